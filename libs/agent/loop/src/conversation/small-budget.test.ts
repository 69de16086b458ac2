import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { countTokens } from '@hermes-fleet/protocol/tokens';
import { scriptedAgent } from '../../testing/scripted-run.ts';
import { asked, type ChatRequest, type Reply, say, use } from '../../testing/scripted-server.ts';

/** The budget of the example in the source document of the handshake. */
const LIMIT = 4000;
const BRIEF = 'Create hello.txt with the text hi.';
/** The largest cost of one call, tokens: four such calls fit into the budget. */
const MOST_PER_CALL = 1000;

/** Returns the tokens that a provider meters for a request of this length. */
type Meter = (chars: number) => number;
const METERS: Readonly<Record<string, Meter>> = {
  'what it was sent': (chars) => Math.ceil(chars / 4.2),
  // As providers do that tell the model in their own words how to call tools.
  'its own instructions and a fifth more': (chars) => Math.ceil((1.2 * chars) / 4.2) + 346,
};

const WRITE: [string, object] = ['write_file', { path: 'hello.txt', content: 'hi' }];
const COMMAND: [string, object] = ['shell_exec', { command: 'printf hi > hello.txt' }];
const READ: [string, object] = ['read_file', { path: 'hello.txt' }];

/** Models that do the work: what they call first, and whether they read it again only when they are told to. */
const MODELS: readonly [what: string, first: [string, object], isTold: boolean][] = [
  ['writes the file and reads it again', WRITE, false],
  ['writes it by a command and reads it again', COMMAND, false],
  ['forgets to check it, and is told', WRITE, true],
];

const hasCalled = ({ messages }: ChatRequest, tool: string): boolean =>
  JSON.stringify(messages).includes(`"name":"${tool}"`);

function script(meter: Meter, first: [string, object], isTold: boolean) {
  return (_turn: number, request: ChatRequest): Reply => {
    const { messages, tools } = request;
    const prompt_tokens = meter(JSON.stringify([messages, tools]).length);
    const usage = { prompt_tokens, completion_tokens: 45 };
    const last = asked(request);
    if (last.startsWith('Wrap up now.'))
      return say('hello.txt holds hi.\n```outcome\n{"status":"done"}\n```', usage);
    if (messages.every(({ role }) => role !== 'assistant')) return use([first], usage);
    if (!hasCalled(request, 'read_file') && (!isTold || last.startsWith('Not verified yet.')))
      return use([READ], usage);
    return say('I created hello.txt with the text hi, and read it again.', usage);
  };
}

describe(`a budget of ${LIMIT} tokens does a one-command write task`, () => {
  for (const [metered, meter] of Object.entries(METERS))
    for (const [what, first, isTold] of MODELS)
      it(`by a model that ${what}, at a provider that meters ${metered}`, async (t) => {
        const run = await scriptedAgent(t, script(meter, first, isTold));
        const { result, requests, context } = await run({
          limit: LIMIT,
          brief: BRIEF,
          task: { replySchema: 'structured' },
        });
        assert.equal(result.status, 'done', JSON.stringify(result));
        assert.deepEqual(result.artifacts.filesChanged, ['hello.txt']);
        assert.equal(result.evidence?.at(-1)?.kind, 'reread');
        assert.equal(context.budget.usage().source, 'metered');
        assert.ok(context.budget.spent() <= LIMIT, String(context.budget.spent()));
        const [begin] = requests;
        assert.ok(begin && meter(JSON.stringify([begin.messages, begin.tools]).length) <= MOST_PER_CALL);
      });

  it('with a prompt and tools of at most 300 tokens at each call', async (t) => {
    const run = await scriptedAgent(t, () => say('It is done.'));
    const { requests } = await run({ limit: LIMIT, brief: BRIEF, task: { replySchema: 'structured' } });
    const { messages, tools } = requests[0] ?? assert.fail();
    const prompt = String(messages[0]?.content);
    assert.deepEqual(tools?.map((each) => each.function.name).sort(), [
      'read_file',
      'shell_exec',
      'write_file',
    ]);
    assert.doesNotMatch(prompt, /memory|PROGRESS|peers/i);
    const size = (await countTokens(prompt)) + (await countTokens(JSON.stringify(tools)));
    assert.ok(size <= 300, String(size));
  });
});
