CREATE TABLE IF NOT EXISTS stillpoint_store (id INTEGER PRIMARY KEY CHECK (id = 1), version INTEGER NOT NULL, secret TEXT NOT NULL) STRICT
CREATE TABLE IF NOT EXISTS stillpoint_chains (dataset TEXT PRIMARY KEY, length INTEGER NOT NULL, head TEXT NOT NULL) STRICT
CREATE TABLE IF NOT EXISTS stillpoint_rows (dataset TEXT NOT NULL, number INTEGER NOT NULL, content TEXT NOT NULL, hash TEXT NOT NULL, PRIMARY KEY (dataset, number)) STRICT
CREATE TABLE IF NOT EXISTS stillpoint_marks (fingerprint TEXT NOT NULL, dataset TEXT NOT NULL, PRIMARY KEY (fingerprint, dataset)) STRICT
CREATE TABLE IF NOT EXISTS stillpoint_leases (dataset TEXT NOT NULL, run TEXT NOT NULL, holder TEXT NOT NULL, events INTEGER NOT NULL, charge REAL NOT NULL, renewed TEXT NOT NULL, ended INTEGER NOT NULL, PRIMARY KEY (dataset, run)) STRICT
CREATE TRIGGER IF NOT EXISTS stillpoint_no_fall BEFORE UPDATE ON stillpoint_leases WHEN NEW.charge < OLD.charge OR NEW.events < OLD.events OR OLD.ended = 1 OR NEW.holder <> OLD.holder BEGIN SELECT RAISE(ABORT, 'leases only rise, and end once'); END
CREATE TRIGGER IF NOT EXISTS stillpoint_no_end BEFORE DELETE ON stillpoint_leases BEGIN SELECT RAISE(ABORT, 'leases are never removed'); END
CREATE TRIGGER IF NOT EXISTS stillpoint_no_update BEFORE UPDATE ON stillpoint_rows BEGIN SELECT RAISE(ABORT, 'rows are never changed'); END
CREATE TRIGGER IF NOT EXISTS stillpoint_no_delete BEFORE DELETE ON stillpoint_rows BEGIN SELECT RAISE(ABORT, 'rows are never removed'); END
CREATE TRIGGER IF NOT EXISTS stillpoint_no_less BEFORE UPDATE ON stillpoint_chains WHEN NEW.length <> OLD.length + 1 BEGIN SELECT RAISE(ABORT, 'chains grow by one row'); END
