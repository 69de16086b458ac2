import assert from 'node:assert/strict';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { FleetError } from '@hermes-fleet/protocol';
import { tempDir } from '@hermes-fleet/protocol/testing';
import { makeAgent } from '../../testing/harness.ts';
import { readDefinition, toolsFor } from './definition.ts';
import { loadSubagents } from './load-definitions.ts';

function folder(t: TestContext, files: Readonly<Record<string, string>> = {}): string {
  const dir = tempDir(t);
  for (const [name, text] of Object.entries(files)) writeFileSync(join(dir, name), text);
  return dir;
}

const definition = (front: string, body = 'Read the code.'): string => `---\n${front}\n---\n${body}\n`;
const GOOD = definition(
  'name: code-reader\ndescription: Reads code.\ntools: [read_file, publish_file, mcp__files__*]',
);
const load = (dir?: string) => loadSubagents({ dir, model: 'offline/runbook' });

const READS = ['list_files', 'read_file', 'find_files', 'grep_files'];

test('a definition may name each of the agent’s own tools, except those that no sub-agent may use', async (t) => {
  const web = { search: { url: 'https://search.example/' } };
  const agent = await makeAgent(t, { tools: { web } });
  const others = ['terminal', 'file', 'patch', 'delegate', 'ask_caller'];
  const own = agent.capabilities().tools.filter((name) => !others.includes(name));
  const text = definition(`name: own\ndescription: Uses them.\ntools: [${own.join(', ')}]`);
  const read = readDefinition('own.md', text);
  assert.deepEqual('definition' in read ? read.definition.tools : read.problems, own);
});

test('each built-in sub-agent has its documented tools', async () => {
  const { definitions, notes } = await load();
  assert.deepEqual(
    Object.fromEntries(definitions.map(({ name, tools, maxWords }) => [name, { tools, maxWords }])),
    {
      'deep-thinker': { tools: [...READS, 'scratchpad_read', 'scratchpad_list'], maxWords: 2000 },
      researcher: {
        tools: [...READS, 'web_fetch', 'scratchpad_write', 'scratchpad_list'],
        maxWords: 2000,
      },
      writer: {
        tools: [
          ...READS,
          'write_file',
          'edit_file',
          'scratchpad_read',
          'scratchpad_write',
          'scratchpad_list',
        ],
        maxWords: 4000,
      },
    },
  );
  assert.deepEqual(notes, []);
});

test('a folder adds sub-agents, and replaces a built-in one with a note', async (t) => {
  const writer = definition('name: writer\ndescription: Writes.\nmodel: gpt-x\nmax_steps: 3\nmax_words: 50');
  const dir = folder(t, { 'a.md': GOOD, 'b.md': writer, 'README.md': '# no agent', 'notes.txt': 'x' });
  const { definitions, notes } = await load(dir);
  assert.deepEqual(
    definitions.map(({ name }) => name),
    ['code-reader', 'deep-thinker', 'researcher', 'writer'],
  );
  const own = definitions.find(({ name }) => name === 'writer');
  assert.deepEqual([own?.maxSteps, own?.maxWords, own?.tools], [3, 50, []]);
  assert.deepEqual(notes, [
    'sub-agent writer: b.md replaces the built-in one',
    "sub-agent writer: model in b.md has no effect: sub-agents use the profile's, offline/runbook",
  ]);
});

test('a missing folder holds no sub-agents', async (t) => {
  assert.equal((await load(join(folder(t), 'none'))).definitions.length, 3);
});

test('a symbolic link to a file is followed, as mounted folders contain them', async (t) => {
  const dir = folder(t, { 'real.txt': GOOD });
  symlinkSync('real.txt', join(dir, 'reader.md'));
  assert.equal((await load(dir)).definitions.length, 4);
});

const WRONG: [what: string, text: string, problems: readonly [path: string, reason: RegExp][]][] = [
  ['no front matter', 'Read the code.', [['x.md:1', /^begin with front matter/]]],
  ['front matter without an end', '---\nname: x\n', [['x.md:1', /^begin with front matter/]]],
  [
    'no YAML',
    definition('name: x\ndescription: "open'),
    [['x.md:4', /^is not valid YAML: Missing closing "quote$/]],
  ],
  ['a list', definition('- name: x'), [['x.md:1', /must be a mapping/]]],
  ['an alias', definition('name: &x x\ndescription: *x'), [['x.md:1', /must be a mapping/]]],
  ['a key twice', definition('name: x\nname: y\ndescription: z'), [['x.md:3', /is not valid YAML/]]],
  [
    'nothing in it',
    definition(''),
    [
      ['x.md:1 name', /^is missing: write a name/],
      ['x.md:1 description', /^is missing: write one line/],
    ],
  ],
  [
    'an unknown key',
    definition('name: x\ndescription: y\ntool: [read_file]'),
    [['x.md:4 tool', /^unknown key; use name, description, tools/]],
  ],
  ['a wrong name', definition('description: y\nname: Big One'), [['x.md:3 name', /small letters/]]],
  ['a name that is a path', definition('name: ../x\ndescription: y'), [['x.md:2 name', /small letters/]]],
  ['a number for a text', definition('name: x\ndescription: 5'), [['x.md:3 description', /^write one line/]]],
  [
    'an unknown tool',
    definition('name: x\ndescription: y\ntools:\n  - read_flie'),
    [['x.md:4 tools.0', /there is no tool "read_flie"/]],
  ],
  [
    'delegation',
    definition('name: x\ndescription: y\ntools: [read_file, delegate, ask_caller]'),
    [
      ['x.md:4 tools.1', /no sub-agent may use delegate; remove it/],
      ['x.md:4 tools.2', /no sub-agent may use ask_caller; remove it/],
    ],
  ],
  ['every tool', definition('name: x\ndescription: y\ntools: ["*"]'), [['x.md:4 tools.0', /no tool "\*"/]]],
  [
    'bounds',
    definition('name: x\ndescription: y\nmax_steps: 0\nmax_words: 1e9'),
    [
      ['x.md:4 max_steps', /^write a whole number from 1 to 200$/],
      ['x.md:5 max_words', /^write a whole number from 20 to 20000$/],
    ],
  ],
  ['no text', definition('name: x\ndescription: y', ''), [['x.md:5', /^write below the front matter/]]],
  [
    'too much text',
    definition('name: x\ndescription: y', 'word '.repeat(4000)),
    [['x.md:5', /at most 16000$/]],
  ],
];

for (const [what, text, expected] of WRONG) {
  test(`a problem names file, line, key and fix: ${what}`, () => {
    const read = readDefinition('x.md', text);
    assert.ok('problems' in read);
    assert.deepEqual(
      read.problems.map(({ path }) => path),
      expected.map(([path]) => path),
      JSON.stringify(read.problems),
    );
    for (const [index, [, reason]] of expected.entries())
      assert.match(read.problems[index]?.reason ?? '', reason);
  });
}

test('all problems of a folder are reported at once', async (t) => {
  const dir = folder(t, {
    'a.md': GOOD,
    'b.md': GOOD,
    'c.md': 'x',
    'd.md': definition(`name: d\ndescription: y`, 'x'.repeat(70_000)),
  });
  mkdirSync(join(dir, 'e.md'));
  await assert.rejects(load(dir), (error) => {
    assert.ok(error instanceof FleetError);
    assert.equal(error.code, 'CONFIG_INVALID');
    assert.deepEqual(
      error.fields.map(({ path }) => path),
      ['b.md name', 'c.md:1', 'd.md', 'e.md'],
    );
    assert.match(error.message, /a\.md is called code-reader too; rename one/);
    return true;
  });
});

test('too many files are refused', async (t) => {
  const files = Array.from({ length: 51 }, (_, at) => [
    `a${at}.md`,
    definition(`name: a${at}\ndescription: y`),
  ]);
  await assert.rejects(load(folder(t, Object.fromEntries(files))), /has 51 sub-agents; at most 50/);
});

test('a sub-agent gets the offered tools that it names, and never a forbidden one', () => {
  const offered = [
    'read_file',
    'write_file',
    'delegate',
    'ask_caller',
    'mcp__files__read',
    'mcp__filesystem__x',
  ];
  const tools = ['read_file', 'grep_files', 'delegate', 'ask_caller', 'mcp__files__*'];
  assert.deepEqual(
    toolsFor(
      { tools },
      offered.map((name) => ({ name })),
    ).map(({ name }) => name),
    ['read_file', 'mcp__files__read'],
  );
});
