import { added, edit, failure, grep, honest, list, read, rounds, sh, type Trace, write } from './trace.ts';

const FAILS =
  'TAP version 13\nnot ok 1 - parses a date\n  AssertionError: expected 2 to equal 3\n# pass 11\n# fail 1';
const PASSES = '# tests 12\n# pass 12\n# fail 0';
const FIELDS = ['id', 'name', 'email', 'phone', 'street', 'city', 'zip', 'country', 'language', 'timezone'];

/** Runs whose edits look alike and lead on: refactoring, renaming, repairing. */
export const HONEST_EDITS: readonly Trace[] = [
  honest(
    'nine files are created, then each is edited once',
    ...rounds(9, (at) => [write(`src/part-${at}.ts`, `export const part${at} = ${at};\n`)]),
    ...rounds(9, (at) => [edit(`src/part-${at}.ts`, `= ${at};`, `= compute(${at});`)]),
  ),
  honest(
    'nine files in one answer, then nine edits in one answer',
    FIELDS.slice(0, 9).map((name) => write(`src/${name}.ts`, `export const ${name} = '';\n`)),
    FIELDS.slice(0, 9).map((name) => edit(`src/${name}.ts`, "''", `'${name}'`)),
    sh('npx tsc --noEmit'),
  ),
  honest(
    'a rename over ten files, twice in each',
    grep('getUser', 'src', ['src/a.ts:1: getUser']),
    ...rounds(10, (at) => [
      edit(`src/f${at}.ts`, 'import { getUser }', 'import { loadUser }'),
      edit(`src/f${at}.ts`, 'await getUser(id)', 'await loadUser(id)'),
    ]),
    sh('npx tsc --noEmit'),
  ),
  honest(
    'a rename inside one file, one place at a time',
    read('src/store.ts'),
    ...rounds(12, (at) => [
      edit('src/store.ts', `const v${at} = cache.get(k${at});`, `const v${at} = store.get(k${at});`),
    ]),
    sh('npm test', PASSES),
  ),
  honest(
    'fourteen edits of one file in a single answer',
    FIELDS.concat('fax', 'vat', 'bank', 'note').map((name) =>
      edit('src/form.tsx', `<Field name="${name}" />`, `<Field id="${name}" name="${name}" />`),
    ),
    sh('npx tsc --noEmit'),
  ),
  honest(
    'fields are added to a type one after the other, without a check',
    ...rounds(FIELDS.length, (at) => [
      edit(
        'src/user.ts',
        `  ${FIELDS[at]}: string;\n}`,
        `  ${FIELDS[at]}: string;\n  ${FIELDS[at + 1] ?? 'end'}: string;\n}`,
      ),
    ]),
    sh('npx tsc --noEmit'),
  ),
  honest(
    'the same annotation above eight methods',
    ...rounds(8, (at) => [
      edit('src/Shape.java', `public int side${at}() {`, `@Override\npublic int side${at}() {`),
    ]),
    sh('mvn -q test', 'Tests run: 8'),
  ),
  honest(
    'the same error check after eight calls',
    ...rounds(8, (at) => [
      edit(
        'main.go',
        `v${at}, err := load(${at})`,
        `v${at}, err := load(${at})\nif err != nil {\n\treturn err\n}`,
      ),
    ]),
    sh('go build ./...'),
  ),
  honest(
    'red and green, five times',
    ...rounds(5, (at) => [
      edit(
        'src/sum.test.ts',
        '// next',
        `test('case ${at}', () => assert.equal(sum(${at}), ${at * 2}));\n// next`,
      ),
      sh('npm test', `not ok - case ${at}\n# fail 1`, 1),
      edit('src/sum.ts', `// case ${at}`, `if (n === ${at}) return ${at * 2};\n// case ${at + 1}`),
      sh('npm test', PASSES),
    ]),
  ),
  honest(
    'five equal errors with a different fix between each two',
    ...rounds(5, (at) => [
      sh('npm test', FAILS, 1),
      edit(
        'src/date.ts',
        ['a - b', 'a + b', 'b - a', 'b * a', 'b / a'][at] ?? '',
        ['a + b', 'b - a', 'b * a', 'b / a', 'Math.abs(a - b)'][at] ?? '',
      ),
    ]),
    sh('npm test', PASSES),
  ),
  honest(
    'an equal error with fixes in different files',
    ...rounds(8, (at) => [
      sh('npm test', FAILS, 1),
      edit(`src/step-${at}.ts`, 'return x', `return x ?? ${at}`),
    ]),
    sh('npm test', PASSES),
  ),
  honest(
    'one function is rewritten as each test shows another error',
    ...rounds(9, (at) => [
      edit('src/parse.ts', `const out = attempt${at}(text);`, `const out = attempt${at + 1}(text);`),
      sh('npm test', `AssertionError: input ${at} gives ${at * 7}\n# fail ${9 - at}`, 1),
    ]),
    edit('src/parse.ts', 'const out = attempt9(text);', 'const out = parsed(text);'),
    sh('npm test', PASSES),
  ),
  honest(
    'a line for debugging is added and removed in four places',
    ...rounds(4, (at) => [
      edit(
        'src/queue.ts',
        `const item${at} = next();`,
        `const item${at} = next();\nconsole.log('item', item${at});`,
      ),
      sh('node src/main.ts', `item { at: ${at} }`),
      edit(
        'src/queue.ts',
        `const item${at} = next();\nconsole.log('item', item${at});`,
        `const item${at} = next();`,
      ),
    ]),
    sh('npm test', PASSES),
  ),
  honest(
    'mutations that the tests must find, each taken back',
    ...['>', '>=', '<=', '!=', '=='].flatMap((operator) => [
      edit('src/limit.ts', 'if (count < max)', `if (count ${operator} max)`),
      sh('npm test', `# fail 1 with ${operator}`, 1),
      edit('src/limit.ts', `if (count ${operator} max)`, 'if (count < max)'),
      sh('npm test', PASSES),
    ]),
  ),
  honest(
    'a flag is switched on and off to compare measurements',
    ...rounds(3, (at) => [
      edit('config.yaml', 'cache: false', 'cache: true'),
      sh('node bench.ts', `ops: ${4000 + at * 13}`),
      edit('config.yaml', 'cache: true', 'cache: false'),
      sh('node bench.ts', `ops: ${2000 + at * 17}`),
    ]),
  ),
  honest(
    'a file is written whole again and again, longer each time, and checked',
    ...rounds(8, (at) => [
      write('src/table.py', Array.from({ length: at + 3 }, (_, row) => `ROW_${row} = ${row}`).join('\n')),
      sh('python3 -m py_compile src/table.py'),
    ]),
  ),
  honest(
    'a document is written in chapters by a command',
    ...rounds(8, (at) => [
      sh(`cat >> guide.md <<'EOF'\n## Chapter ${at}\n\nWhat happens in chapter ${at}.\nEOF`),
    ]),
    read('guide.md'),
  ),
  honest(
    'prose is reworded, and read after each edit',
    ...rounds(7, (at) => [
      edit('README.md', `The tool does ${at} things.`, `The tool does ${at + 1} things.`),
      read('README.md', `# Tool\n\nThe tool does ${at + 1} things.`),
    ]),
  ),
  honest(
    'sed replaces another word each time',
    ...FIELDS.map((name) => sh(`sed -i 's/${name}/customer_${name}/' schema.sql`)),
    sh('grep -c customer_ schema.sql', '10'),
  ),
  honest(
    'an edit does not match, the file is read, and the edit matches',
    ...rounds(5, (at) => [
      failure(
        'edit_file',
        { path: `lib/m${at}.rb`, old_text: 'def run', new_text: 'def call' },
        'old_text does not occur in the file; read it again',
      ),
      read(`lib/m${at}.rb`),
      edit(`lib/m${at}.rb`, 'def run(', 'def call('),
    ]),
    sh('rspec', '20 examples, 0 failures'),
  ),
  honest(
    'one change is undone for another one',
    edit('src/retry.ts', 'delay(100)', 'delay(backoff(n))'),
    sh('npm test', FAILS, 1),
    edit('src/retry.ts', 'delay(backoff(n))', 'delay(100)'),
    edit('src/retry.ts', 'retries = 3', 'retries = 5'),
    sh('npm test', PASSES),
  ),
  honest(
    'two files depend on each other and are edited in turn',
    ...rounds(8, (at) => [
      edit('src/api.ts', `// route ${at}`, `app.get('/r${at}', handler${at});\n// route ${at + 1}`),
      edit(
        'src/handlers.ts',
        `// handler ${at}`,
        `export const handler${at} = reply(${at});\n// handler ${at + 1}`,
      ),
    ]),
    sh('npx tsc --noEmit'),
  ),
  honest(
    'several edits of one file by one call',
    list('src', ['a.ts']),
    ...rounds(4, (at) => [
      {
        tool: 'edit_file',
        input: {
          path: 'src/a.ts',
          edits: [0, 1, 2].map((place) => ({
            old_text: `old ${at} ${place};`,
            new_text: `fresh ${at} ${place};`,
          })),
        },
        result: { ok: true, output: { path: 'src/a.ts', bytes: 300 } },
      },
    ]),
    sh('npx tsc --noEmit'),
  ),
  honest(
    'a long document is written in twelve parts, each added to its end',
    ...rounds(12, (at) => [added('manual/guide.md', `## Chapter ${at}\n\nText of chapter ${at}.\n`)]),
    read('manual/guide.md'),
  ),
];
