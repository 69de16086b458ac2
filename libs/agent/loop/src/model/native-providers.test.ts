import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it, type TestContext } from 'node:test';
import { isJsonObject, type JsonObject, parseJson } from '@hermes-fleet/protocol';
import { systemClock } from '@hermes-fleet/protocol/ports';
import { z } from 'zod';
import { makeAgent, makeContext, makeTask } from '../../testing/harness.ts';
import { type Dialect, OUTPUT, type Step, USAGE, WAIT_S } from '../../testing/native/dialect.ts';
import { DIALECTS } from '../../testing/native/dialects.ts';
import { restartableServer } from '../../testing/restartable-server.ts';

const ROOT = join(import.meta.dirname, '../../../../..');
const HOME = mkdtempSync(join(tmpdir(), 'native-providers-'));
after(() => rmSync(HOME, { recursive: true }));
mkdirSync(join(HOME, 'packages'));
symlinkSync(join(ROOT, 'node_modules'), join(HOME, 'packages/node_modules'));
const env = {
  read: (name: string) => (name === 'MODEL_KEY' ? 'key-1' : name === 'HERMES_HOME' ? HOME : undefined),
};

const END = { text: 'The notes are written.' };
const STEPS: readonly Omit<Step, 'turn' | 'thinking'>[] = [
  { call: { name: 'write_file', args: { path: 'notes.md', content: '# Notes\n' } } },
  { call: { name: 'shell_exec', args: { command: 'cat notes.md && expr 40 + 2' } } },
  END,
];

/** The end of an answer, in any dialect. */
const LAST = /"finish_reason":"|"finishReason"|"message_delta"|"response.completed"/;

/** A stream that ends as if it were whole, with all of its text but without a finish reason. */
const withoutEnd = (answer: string): string => {
  const frames = answer.split('\n\n');
  const end = frames.findIndex((frame) => LAST.test(frame));
  return `${frames.slice(0, end).join('\n\n')}\n\n`;
};

/** A run whose first call is refused or breaks off, before answers by the steps. A request without a result is refused. */
async function scripted(t: TestContext, dialect: Dialect, first: 'refused' | 'broken', steps = STEPS) {
  const calls: { path: string; key: string; body: JsonObject }[] = [];
  const { url } = await restartableServer(t, async (request, response) => {
    let text = '';
    for await (const chunk of request) text += chunk;
    const body = parseJson(text);
    if (!isJsonObject(body)) assert.fail('no object');
    calls.push({ path: request.url ?? '', key: String(request.headers[dialect.keyHeader]), body });
    const { headers, body: refusal } = dialect.refusal;
    const json = (status: number, value: unknown): void =>
      void response
        .writeHead(status, { 'content-type': 'application/json', ...headers })
        .end(JSON.stringify(value));
    if (calls.length === 1 && first === 'refused') return json(429, refusal);
    const { calls: made, results } = dialect.ids(body);
    if (JSON.stringify(made) !== JSON.stringify(results)) return json(400, { error: { message: text } });
    const turn = Math.max(1, calls.length - 1);
    const step = steps[turn - 1] ?? assert.fail('too many calls');
    const answer = dialect.answer({ turn, thinking: `I think ${turn}.`, ...step });
    response
      .writeHead(200, { 'content-type': 'text/event-stream' })
      .end(calls.length === 1 ? withoutEnd(answer) : answer);
  });
  const agent = await makeAgent(
    t,
    { ...dialect.config, base_url: url + dialect.base },
    { env, clock: { ...systemClock, sleep: async () => {} } },
  );
  const context = makeContext();
  const result = await agent.executor.run(makeTask('Write notes.md and look at it.'), context);
  assert.deepEqual([result.status, result.text], ['done', END.text], JSON.stringify(result));
  const retries = context.events.flatMap((event) =>
    event.type === 'progress' && isJsonObject(event.data.retry) ? [event.data.retry] : [],
  );
  return { calls, context, result, retries };
}

describe('over the API of a provider, an agent writes, runs and answers', () => {
  for (const dialect of DIALECTS)
    it(dialect.provider, async (t) => {
      const { calls, context, result, retries } = await scripted(t, dialect, 'refused');
      assert.deepEqual(result.artifacts.filesChanged, ['notes.md']);
      assert.match(JSON.stringify(calls[3]?.body), /# Notes\\+n42/, 'the command ran');
      for (const { path, key } of calls)
        assert.deepEqual([path, key.replace('Bearer ', '')], [dialect.path, 'key-1']);

      const { inputTokens, outputTokens, cacheReadTokens, reasoningTokens, source } = context.budget.usage();
      assert.deepEqual(
        { inputTokens, outputTokens, cacheReadTokens, reasoningTokens, source },
        {
          inputTokens: 3 * USAGE.fresh,
          outputTokens: 3 * OUTPUT,
          cacheReadTokens: 3 * USAGE.cached,
          reasoningTokens: dialect.countsThinking ? 3 * USAGE.thought : undefined,
          source: 'metered',
        },
      );

      assert.deepEqual(dialect.returned(calls[2]?.body ?? {}), dialect.thought, 'what it thought goes back');
      const [{ reason, http_status: status, wait_ms: wait } = {}] = retries;
      assert.deepEqual([retries.length, reason, status], [1, 'refused', 429]);
      assert.equal(Number(wait) >= WAIT_S * 1000, dialect.saysWait, `${wait} ms after the refusal`);
    });
});

describe('an answer that ends without a finish reason is asked for again', () => {
  for (const dialect of DIALECTS)
    it(dialect.provider, async (t) => {
      const { calls, retries } = await scripted(t, dialect, 'broken', [END]);
      assert.deepEqual([calls.length, retries.map(({ reason }) => reason)], [2, ['broken']]);
    });
});

const Lock = z.object({ packages: z.record(z.string(), z.looseObject({ version: z.string().optional() })) });
const lock = Lock.parse(JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')));
const versionOf = (name: string): string =>
  lock.packages[`node_modules/${name}`]?.version ?? assert.fail(name);

it('docs/agent.md lists what is run here, with the versions of the lockfile', () => {
  const [, section = ''] = readFileSync(join(ROOT, 'docs/agent.md'), 'utf8').split('### What was run\n');
  const [table = ''] = section.split('\n#');
  const rows = table
    .split('\n')
    .filter((line) => line.startsWith('| '))
    .slice(1)
    .map((line) => line.split('|').map((cell) => cell.trim()));
  assert.deepEqual(
    rows.map(([, provider, code, version]) => [provider, code, version]),
    DIALECTS.map(({ provider, package: code }) => [provider, code, versionOf(code)]),
  );
  for (const [, provider, , , returned = '', counted, says] of rows) {
    const dialect = DIALECTS.find((each) => each.provider === provider) ?? assert.fail(provider);
    assert.deepEqual(
      [!returned.startsWith('nothing'), counted === 'yes', says !== 'no'],
      [dialect.thought !== undefined, dialect.countsThinking, dialect.saysWait],
      provider,
    );
  }
});
