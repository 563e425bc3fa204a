PRAGMA application_id = 1128811598;
PRAGMA user_version = 1;
BEGIN TRANSACTION;
CREATE TABLE results (
    id TEXT PRIMARY KEY,       -- canonical id of the task
    kind TEXT NOT NULL,
    parameters TEXT NOT NULL,  -- canonical JSON, every default in force included
    result TEXT NOT NULL,      -- canonical JSON
    made_with TEXT NOT NULL,   -- versions of this package and of those that do its arithmetic
    seconds REAL NOT NULL      -- processor time it took where it ran; never part of a comparison
) WITHOUT ROWID
;
INSERT INTO "results" VALUES('38101b60450b6dfc871308739b2d4747','smallest','{"alpha":0.5,"budget":null,"inputs":"binary","method":"omp","n":8,"trial":1}','{"iterations":1,"n_patterns":4,"n_selected":1,"separates":true}','chanceline 0.1.0, python 3.11.7, numpy 2.4.6, scipy 1.17.1, numba 0.68.1',1.12960400000017280319e-03);
INSERT INTO "results" VALUES('43e423768fd289ccab37bba75358dc5f','smallest','{"alpha":0.5,"budget":null,"inputs":"binary","method":"omp","n":12,"trial":1}','{"iterations":1,"n_patterns":6,"n_selected":1,"separates":true}','chanceline 0.1.0, python 3.11.7, numpy 2.4.6, scipy 1.17.1, numba 0.68.1',1.00204400000003523985e-03);
INSERT INTO "results" VALUES('682b0edc79a18241380999eabd7b84de','smallest','{"alpha":0.5,"budget":null,"inputs":"binary","method":"omp","n":12,"trial":0}','{"iterations":3,"n_patterns":6,"n_selected":3,"separates":true}','chanceline 0.1.0, python 3.11.7, numpy 2.4.6, scipy 1.17.1, numba 0.68.1',1.06986599999991938148e-03);
INSERT INTO "results" VALUES('6d95ef1ce5f2531eb1b86a4b594ab55b','smallest','{"alpha":0.5,"budget":null,"inputs":"binary","method":"omp","n":8,"trial":0}','{"iterations":1,"n_patterns":4,"n_selected":1,"separates":true}','chanceline 0.1.0, python 3.11.7, numpy 2.4.6, scipy 1.17.1, numba 0.68.1',8.88993571000000093462e-01);
COMMIT;
