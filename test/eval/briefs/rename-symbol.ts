import {
  calls,
  edit,
  type Files,
  failing,
  grep,
  read,
  replaceAll,
  type Script,
  says,
  sh,
} from '../script/script.ts';

const PAGES = [
  'orders',
  'users',
  'stock',
  'bills',
  'offers',
  'claims',
  'teams',
  'roles',
  'tours',
  'sites',
  'rates',
  'notes',
];

const page = (name: string): string => `import { fetchRows } from '../fetch-rows.mjs';

/** The page of ${name}: fetchRows gives it one table. */
export async function ${name}Page(store) {
  const rows = await fetchRows(store, '${name}');
  return rows.map((row) => row.id + ': ' + row.title).join('\\n');
}
`;

export const files: Files = {
  'CHANGELOG.md': '# Changelog\n\n## 1.4.0\n\n- `fetchRows` reads a table in pages.\n',
  'guide/tables.md':
    '# Tables\n\nCall `fetchRows(store, table)` of `src/fetch-rows.mjs`. It returns all rows.\n',
  'src/events.mjs': "export const DONE = 'rows:fetchRowsDone';\n",
  'src/legacy.mjs': `/** Reads a table in one piece. */\nexport function fetchRowsLegacy(store, table) {
  return store[table] ?? [];
}
`,
  'src/fetch-rows.mjs': `import { DONE } from './events.mjs';
import { fetchRowsLegacy } from './legacy.mjs';

/** All rows of a table. */
export async function fetchRows(store, table) {
  const rows = fetchRowsLegacy(store, table);
  store.log?.push(DONE + ' ' + table);
  return rows;
}
`,
  ...Object.fromEntries(PAGES.map((name) => [`src/pages/${name}.mjs`, page(name)])),
  'test/pages.test.mjs': `import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fetchRows } from '../src/fetch-rows.mjs';
import { fetchRowsLegacy } from '../src/legacy.mjs';
${PAGES.map((name) => `import { ${name}Page } from '../src/pages/${name}.mjs';`).join('\n')}

const pages = { ${PAGES.map((name) => `${name}: ${name}Page`).join(', ')} };

for (const [name, page] of Object.entries(pages)) {
  test(name, async () => {
    const store = { [name]: [{ id: 1, title: 'one' }, { id: 2, title: 'two' }], log: [] };
    assert.equal(await page(store), '1: one\\n2: two');
    assert.deepEqual(store.log, ['rows:fetchRowsDone ' + name]);
  });
}
test('fetchRows of an unknown table', async () => assert.deepEqual(await fetchRows({}, 'x'), fetchRowsLegacy({}, 'x')));
`,
};

const IMPORT = "import { fetchRows } from '../fetch-rows.mjs';";
const NEW_IMPORT = "import { loadRows } from '../load-rows.mjs';";
const renamed = (name: string) => [
  edit(`src/pages/${name}.mjs`, IMPORT, NEW_IMPORT),
  replaceAll(`src/pages/${name}.mjs`, 'fetchRows', 'loadRows'),
];
const TESTS = 'node --test test/*.test.mjs';

export const script: Script = {
  turns: [
    [
      calls(grep('fetchRows'), sh(TESTS)),
      calls(read('src/fetch-rows.mjs'), read('test/pages.test.mjs'), read('guide/tables.md')),
      calls(
        sh('git mv src/fetch-rows.mjs src/load-rows.mjs'),
        edit('src/load-rows.mjs', 'function fetchRows(store', 'function loadRows(store'),
      ),
      calls(failing(sh(TESTS))),
      calls(...PAGES.slice(0, 4).flatMap(renamed)),
      calls(...PAGES.slice(4, 8).flatMap(renamed)),
      calls(...PAGES.slice(8).flatMap(renamed)),
      calls(
        edit(
          'test/pages.test.mjs',
          "import { fetchRows } from '../src/fetch-rows.mjs';",
          "import { loadRows } from '../src/load-rows.mjs';",
        ),
        replaceAll('test/pages.test.mjs', 'fetchRows of', 'loadRows of'),
        edit('test/pages.test.mjs', "await fetchRows({}, 'x')", "await loadRows({}, 'x')"),
        sh("sed -i 's/fetchRows(/loadRows(/; s/fetch-rows/load-rows/' guide/tables.md"),
      ),
      calls(grep('fetchRows'), read('guide/tables.md'), sh(TESTS)),
      says(
        '`loadRows` is in src/load-rows.mjs, and everything uses it. The names that only look alike are as they were.',
      ),
    ],
  ],
};
