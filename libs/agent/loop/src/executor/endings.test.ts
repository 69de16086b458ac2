import { type RunCase, reads, runCases, runs, writes } from '../../testing/run-cases.ts';
import { type Reply, say, use } from '../../testing/scripted-server.ts';

const TOLD = /^Not finished yet\./;
const promises = (text: string): Reply => ({ ...say(text), finish: 'tool_calls' });
const ANNOUNCES = "I'll now create the file a.txt.";

/** What says that work is to come, and how the result names it. */
const NOT_DONE: readonly [what: string, answer: Reply, remaining: RegExp, ...more: RegExp[]][] = [
  ['announces its work', say(ANNOUNCES), /^what the last message announces and does not do: I'll now/],
  [
    'writes its call as text',
    say('<tool_call>\n{"name": "write_file", "arguments": {"path": "a.txt"}}\n</tool_call>'),
    /^the tool call that the last message holds as text, which was not carried out: /,
  ],
  [
    'promises a call that does not come',
    promises('I wrote a.txt.'),
    /^the tool call that .* did not come: I wrote/,
  ],
  [
    'promises a call and says nothing',
    promises(''),
    /^the tool call that .* did not come: no text/,
    /^the reply has no text/,
  ],
];

/** Last changes that fail, and why. */
const FAILED: readonly [call: [string, object], why: string][] = [
  [['write_file', { path: 'a.txt' }], 'wrong input: '],
  [['save_document', { path: 'a.txt', content: 'A' }], ''],
  [['edit_file', { path: 'gone.txt', old_text: 'a', new_text: 'b' }], 'there is no such file or directory'],
];

/** Calls after the work, and whether the work is done then. */
const LAST_CALLS: readonly [what: string, call: Reply, isDone: boolean][] = [
  ['a search that finds nothing', runs('grep -n missing a.txt'), true],
  ['a comparison that finds a difference', runs('cat a.txt; echo B | diff a.txt -'), true],
  ['a look for a file that is not there', runs('test -e b.txt'), true],
  ['a call of an unknown tool that lists', use([['list_everything', {}]]), true],
  ['a refused look', use([['read_file', { lines: 3 }]]), true],
  ['a program that fails', runs('cat a.txt && exit 1'), false],
];

runCases([
  {
    name: 'a model that announces its work instead of doing it is told so once, and does it',
    script: [say(ANNOUNCES), writes('a.txt'), reads('a.txt'), say('I created a.txt and read it again.')],
    expect: { status: 'done', guards: ['ending warn'], files: ['a.txt'] },
  },
  {
    name: 'a JSON reply that fits is not done if its answer promises a call that does not come',
    script: [promises('{"done":true}')],
    task: { task: { replySchema: 'json' } },
    expect: { status: 'partial', requests: 2, remaining: [/^the tool call that .* did not come: /] },
  },
  {
    name: 'a model that promises a call without one is told so once, and makes it',
    script: [
      promises('I write a.txt.'),
      writes('a.txt'),
      reads('a.txt'),
      say('I created a.txt and read it again.'),
    ],
    expect: { status: 'done', guards: ['ending warn'], files: ['a.txt'] },
    asks: { 2: /^Not finished yet\. .*no call came/ },
  },
  ...NOT_DONE.map(
    ([what, answer, ...remaining]): RunCase => ({
      name: `a model that ${what} again after it was told is not done`,
      script: [answer],
      expect: { status: 'partial', guards: ['ending warn'], requests: 2, remaining },
      asks: { 2: TOLD },
    }),
  ),
  ...FAILED.map(
    ([call, why]): RunCase => ({
      name: `a task whose ${call[0]} failed is not done, whatever the model says, and says why`,
      script: [use([call]), runs('ls'), say('All done.')],
      expect: { status: 'partial', remaining: [new RegExp(`^the last ${call[0]} failed: ${why}`)] },
    }),
  ),
  ...LAST_CALLS.map(
    ([what, call, isDone]): RunCase => ({
      name: `after ${what} the work is ${isDone ? 'done' : 'not done'}`,
      script: [writes('a.txt', 'A\n'), reads('a.txt'), call, say('I wrote a.txt.')],
      expect: isDone ? { status: 'done', remaining: [] } : { status: 'partial' },
    }),
  ),
  {
    name: 'a call that goes on beyond the output limit is refused as cut, also where the server ignores the limit',
    script: [writes('a.txt', 'many words '.repeat(2000)), say('All done.')],
    config: { limits: { max_output_tokens: 64 } },
    expect: { status: 'partial' },
    asks: { 2: /the call was cut at the output limit of 64 tokens/ },
  },
]);
