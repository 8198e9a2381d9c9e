-- software   stillpoint test
-- loss       huber(0.1)
-- epsilon    1
-- delta      1e-06
-- relation   replace-one
-- neighbour  a table
-- complete   true
WITH "_white" AS (
  SELECT CHR(9) || CHR(10) || CHR(11) || CHR(12) || CHR(13) || CHR(32) || CHR(133) || CHR(160) || CHR(5760) || CHR(8192) || CHR(8193) || CHR(8194) || CHR(8195) || CHR(8196) || CHR(8197) || CHR(8198) || CHR(8199) || CHR(8200) || CHR(8201) || CHR(8202) || CHR(8232) || CHR(8233) || CHR(8239) || CHR(8287) || CHR(12288) AS "_space"
), "_cell" AS MATERIALIZED (
  SELECT "id",
    CASE WHEN CAST("a" AS text) !~ '[xX_]' THEN CAST("a" AS double precision) END AS "_n0",
    BTRIM(CAST("Is it" AS text), (SELECT "_space" FROM "_white")) AS "_c0",
    BTRIM(CAST("b" AS text), (SELECT "_space" FROM "_white")) AS "_c1"
  FROM people
), "_unit" AS MATERIALIZED (
  SELECT "id",
    CASE WHEN "_n0" IS NULL OR "_n0" = float8 'NaN' OR "_n0" = float8 '9' THEN float8 '0' WHEN "_n0" <= float8 '0' THEN float8 '-1' WHEN "_n0" >= float8 '4' THEN float8 '1' ELSE float8 '2' * (("_n0" - float8 '0') / float8 '4') - float8 '1' END / float8 '2' AS "_u0",
    "_c0",
    "_c1"
  FROM "_cell"
), "_square" AS MATERIALIZED (
  SELECT "id",
    (float8 '0.75' + "_u0" * "_u0") AS "_s",
    "_u0",
    "_c0",
    "_c1"
  FROM "_unit"
), "_norm" AS MATERIALIZED (
  SELECT "id",
    CASE WHEN "_s" > float8 '1' THEN SQRT("_s") ELSE float8 '1' END AS "_norm",
    "_u0",
    "_c0",
    "_c1"
  FROM "_square"
), "_share" AS MATERIALIZED (
  SELECT "id",
    "_u0" / "_norm" AS "_y0",
    float8 '0.5' / "_norm" AS "_y1",
    "_c0",
    "_c1"
  FROM "_norm"
), "_feature" AS MATERIALIZED (
  SELECT "id",
    "_y0" * float8 '5.36870913e+08' + ("_y0" - "_y0" * float8 '5.36870913e+08') AS "_x0",
    "_y1" * float8 '5.36870913e+08' + ("_y1" - "_y1" * float8 '5.36870913e+08') AS "_x1",
    "_c0",
    "_c1"
  FROM "_share"
), "_sum" AS MATERIALIZED (
  SELECT "id",
    ("_x0" * float8 '1' + "_x1" * (float8 '6' + (CASE "_c0" WHEN 'x' THEN float8 '2' ELSE float8 '3' END + CASE "_c1" WHEN 'y' THEN float8 '4' ELSE float8 '5' END))) AS "_z0"
  FROM "_feature"
)
  SELECT "id",
    "_z0" * float8 '5' + float8 '5' AS "prediction"
  FROM "_sum"
