package curator

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/stillpoint-dp/stillpoint/curator/internal/engine"
	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/loss"
)

// Refine makes the session answer later queries about rows of another schema, in which features that are computed
// when rows are read are computed differently: curves may have other knots. The schema must refine the session's
// present schema (dataset.Schema.Refines): what is stored of rows does not change, and no row is read again. The
// number of features may change, and with it Dim.
//
// Refine charges nothing and releases nothing. The schema must follow from public facts and from released answers
// alone. The answers to later queries are then an adaptive composition of Gaussian mechanisms, as the answers of
// any optimizer are, since the bound on the norm of a row holds for every schema and is enforced for each row
// whenever it is read.
//
// Refine waits for queries that are being answered, and queries wait for Refine. Cohorts, samples, the schedule
// and the ledger stay as they are. A prefix sum that was opened before takes no further items. Over Shards every
// worker computes the features by the refined schema from its next query on, and so does a worker that takes the
// place of a lost one. Config.Reserve must not call Refine.
//
// Refine returns an error, and changes nothing, if the schema does not refine the present one, if the session is
// closed, and if its rows are reduced (Config.Reduce): a reduced row does not store the numbers from which hats
// are computed.
func (s *Session) Refine(schema *dataset.Schema) error {
	if schema == nil {
		return errors.New("curator: refine: schema: must be given")
	}
	own := *schema
	return s.wall.session().Refine(func(e engine.Engine) (engine.Engine, error) { return s.wall.refine(e, &own) })
}

// refining returns the engine that replaces the engine e when a session's schema is refined. It may return e,
// changed. Calls follow each other (session.Session.Refine).
type refining func(e engine.Engine, schema *dataset.Schema) (engine.Engine, error)

// refiner returns the refining of a session of configuration c. make returns the engine of a configuration that
// differs from c in the schema alone.
func refiner(c Config, make func(c Config, e engine.Engine) (engine.Engine, error)) refining {
	return func(e engine.Engine, schema *dataset.Schema) (engine.Engine, error) {
		if c.Reduce != nil {
			return nil,
				errors.New("curator: refine: must not be called where rows are reduced: they store no numbers of columns")
		}
		refined := c
		refined.Schema = schema
		if err := schema.Refines(c.Schema); err != nil {
			return nil, fmt.Errorf("curator: refine: %w", err)
		}
		if err := probe(loss.RowLoss(c.Loss), refined.features()); err != nil {
			return nil, err
		}
		next, err := make(refined, e)
		if err == nil {
			c = refined
		}
		return next, err
	}
}

// held returns the engine of this process that takes the place of another one over the same stored table.
func (s *stored) held(c Config, _ engine.Engine) (engine.Engine, error) { return c.engine(s) }

// shared tells the shards of the engine e the configuration's schema.
func shared(c Config, e engine.Engine) (engine.Engine, error) {
	told, err := json.Marshal(c.Schema)
	if err != nil {
		return nil, err
	}
	return e, e.(*listening).Refine(told, loss.RecordFeatures(c.Loss, c.features()))
}

// refined returns the engine of a worker whose session has refined its schema. told is what shared sends.
func (c Config) refined(told []byte, of *stored) (engine.Engine, error) {
	schema := new(dataset.Schema)
	if err := json.Unmarshal(told, schema); err != nil {
		return nil, errors.New("curator: shard: must be told a schema: use the same version on both sides")
	}
	return refiner(c, of.held)(nil, schema)
}
