import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type UnfinishedEnding, unfinishedEnding } from './unfinished-ending.ts';

const TOOLS = new Set(['read_file', 'write_file', 'edit_file', 'shell_exec']);
const CALL = '{"name": "write_file", "arguments": {"path": "a.txt", "content": "x"}}';

const UNFINISHED: readonly [ending: UnfinishedEnding, message: string][] = [
  ['intention', "I'll now create the file."],
  ['intention', 'I will create the file a.txt with the content.'],
  ['intention', 'I’ll start by reading the configuration.'],
  ['intention', 'Let me check the tests first.'],
  ['intention', "Now let's run the tests."],
  ['intention', 'I have read the code. Next, I am going to fix the parser.'],
  ['intention', "I've updated a.ts. Now I'll run the tests."],
  ['intention', 'The bug is in `sum`.\n\nLet me fix it:'],
  ['intention', 'Creating the file now...'],
  ['intention', 'Okay, I need to update the imports as well.'],
  ['intention', 'The plan:\n1. Read\n2. Write\n\nFirst, let me look at the folder structure.'],
  ['intention', 'Great! Now I will go ahead and implement the feature.'],
  ['intention', "I'm about to rename the function in all files:"],
  ['intention', 'The code to add:\n\n```ts\nconst a = 1;\n```\n\nI will now add this to src/a.ts.'],
  ['call', `<tool_call>\n${CALL}\n</tool_call>`],
  ['call', `I'll write it.\n<tool_call>${CALL}`],
  [
    'call',
    '<tool_call>\n<function=write_file>\n<parameter=path>\na.txt\n</parameter>\n</function>\n</tool_call>',
  ],
  ['call', '<function=write_file>{"path": "a.txt"}</function>'],
  ['call', `<|python_tag|>{"name": "write_file", "parameters": {"path": "a.txt"}}`],
  ['call', `[TOOL_CALLS] [${CALL}]`],
  ['call', '[TOOL_CALLS]write_file[ARGS]{"path": "a.txt"}'],
  ['call', '<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>write_file'],
  ['call', '<|tool_calls_section_begin|><|tool_call_begin|>functions.write_file:0'],
  ['call', '<|channel|>commentary to=functions.write_file <|constrain|>json<|message|>{"path":"a.txt"}'],
  ['call', '<invoke name="write_file"><parameter name="path">a.txt</parameter></invoke>'],
  ['call', '<write_file>\n<path>a.txt</path>\n<content>x</content>\n</write_file>'],
  ['call', CALL],
  ['call', `[${CALL}]`],
  ['call', `\`\`\`json\n${CALL}\n\`\`\``],
  ['call', `I'll write the file:\n\n\`\`\`json\n${CALL}\n\`\`\``],
  ['call', '{"type": "function", "function": {"name": "shell_exec", "arguments": {"command": "ls"}}}'],
];

const FINISHED: readonly string[] = [
  'Done.',
  'I created a.txt and checked it with `cat`.',
  'The file is written. Let me know if you want another format.',
  'All tests pass. If you like, I will add more of them.',
  "I fixed the bug. I'll add more tests if you want them.",
  'The page is done. Let me check the other pages once you have decided on the colors.',
  'I fixed the bug. I will not touch the other modules.',
  'The server is configured. I left the old key in place; you can remove it later.',
  'I renamed the function. Should I also update the documents?',
  'I updated the parser.\n\nNext steps:\n- add a test for empty lines\n- remove the old parser',
  `A tool call of Hermes looks like this:\n\n\`\`\`\n<tool_call>\n${CALL}\n</tool_call>\n\`\`\``,
  `I documented the format in manual/tools.md:\n\n\`\`\`json\n${CALL}\n\`\`\``,
  'The guide explains the tag `<tool_call>{…}` and the token `[TOOL_CALLS]`.',
  'The example in the README is now:\n\n```json\n{"name": "write_file", "arguments": {}}\n```',
  'The result is:\n\n```json\n{"name": "fleet", "version": "1.0"}\n```',
  '{"name": "fleet", "arguments": ["a"]}',
  'The function create() will now create the file when it is missing.',
  'I will be away from the old API from here on: it is removed.',
  'Nothing was left to do: the folder already exists.',
  'The script says "I will now run the tests", and then it runs them.',
  'What I found: the cache is never cleared, so the answer is no.',
  'I added the section "Let me start", as the outline asks.',
  'I could not write the file, since the disk is full.',
  'Summary:\n\n| file | change |\n|---|---|\n| a.ts | new |',
  'The code is in `src/a.ts`:\n\n```ts\n// I will run this later\nrun();\n```',
  "I'll leave the flag off, as the task says.",
  'I will now stop.\n```outcome\n{"status":"done"}\n```',
];

for (const [ending, message] of UNFINISHED)
  test(`a message that is no end: ${JSON.stringify(message.slice(0, 60))}`, () =>
    assert.equal(unfinishedEnding(message, TOOLS), ending));

for (const message of FINISHED)
  test(`a message that is a report: ${JSON.stringify(message.slice(0, 60))}`, () =>
    assert.equal(unfinishedEnding(message, TOOLS), undefined));

test('a hostile message is read in bounded time', () => {
  for (const part of [
    'I will ',
    '<tool_call>',
    '```',
    '`',
    '[TOOL_CALLS',
    'now, ',
    '{"name":',
    '<a> ',
    ' \n\n',
  ])
    unfinishedEnding(part.repeat(50_000), TOOLS);
});
