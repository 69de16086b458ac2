import { calls, edit, failing, read, type Script, says, sh, write } from '../script/script.ts';

const FIRST = `-- First and last names, and one person for each address.
ALTER TABLE people RENAME TO old_people;
CREATE TABLE people (
  id INTEGER PRIMARY KEY,
  first_name TEXT NOT NULL,
  last_name TEXT NOT NULL,
  email TEXT NOT NULL UNIQUE
);
`;
const REST = `INSERT INTO people (id, first_name, last_name, email)
SELECT id,
  CASE WHEN instr(name, ' ') = 0 THEN name ELSE substr(name, 1, length(name) - length(last) - 1) END,
  CASE WHEN instr(name, ' ') = 0 THEN '' ELSE last END,
  lower(email)
FROM (SELECT *, replace(name, rtrim(name, replace(name, ' ', '')), '') AS last FROM old_people)
WHERE id IN (SELECT min(id) FROM old_people GROUP BY lower(email));
CREATE TABLE new_visits (person INTEGER NOT NULL REFERENCES people(id), day TEXT NOT NULL);
INSERT INTO new_visits (person, day)
SELECT people.id, visits.day
FROM visits
JOIN old_people ON old_people.id = visits.person
JOIN people ON people.email = lower(old_people.email);
DROP TABLE visits;
DROP TABLE old_people;
ALTER TABLE new_visits RENAME TO visits;
`;
const TEST = `
test('people keep their visits', () => {
  const db = migrate(':memory:');
  db.exec("INSERT INTO people (first_name, last_name, email) VALUES ('Neo', '', 'neo@zion.example')");
  db.exec("INSERT INTO visits VALUES (1, '2026-01-01')");
  assert.throws(() => db.exec("INSERT INTO people (first_name, last_name, email) VALUES ('x', '', 'neo@zion.example')"));
  assert.equal(db.prepare('SELECT count(*) AS count FROM visits').get().count, 1);
});
`;
const TESTS = 'node --test test/migrate.test.mjs';

export const script: Script = {
  turns: [
    [
      calls(sh('ls -R; cat migrations/*.sql'), read('migrate.mjs'), read('test/migrate.test.mjs')),
      calls(
        edit(
          'test/migrate.test.mjs',
          "['people', 'visits']);\n});\n",
          `['people', 'visits']);\n});\n${TEST}`,
        ),
        write('migrations/003-names.sql', FIRST),
      ),
      calls(failing(sh(TESTS))),
      calls(edit('migrations/003-names.sql', ');\n', `);\n${REST}`)),
      calls(sh(TESTS)),
      says('migrations/003-names.sql splits the names, makes the addresses unique, and moves the visits.'),
    ],
  ],
};
