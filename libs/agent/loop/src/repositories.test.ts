import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RunEvent } from '@hermes-fleet/protocol/ports';
import { startForge } from '@hermes-fleet/workspace/testing';
import { block, makeAgent, makeContext, makeTask } from '../testing/harness.ts';

const env = { read: (name: string) => (name === 'WEB_TOKEN' ? 's3cret-token' : undefined) };
const fetchesIn = (events: readonly RunEvent[]): unknown[] =>
  events.flatMap((event) => (event.type === 'progress' && 'fetch' in event.data ? [event.data.fetch] : []));

test('a task works on the repository that it names, and tells that it waits for the fetch', {
  timeout: 120_000,
}, async (t) => {
  const forge = await startForge(t, { token: 's3cret-token' });
  const base = forge.push('web', { 'a.txt': 'main\n' });
  forge.push('web', { 'a.txt': 'release\n' }, 'release/1');
  const url = forge.server.url('web.git');
  const web = {
    url,
    token_env: 'WEB_TOKEN',
    bases: ['release/*'],
    setup: 'printf %s "$WEB_TOKEN" | wc -c > size',
    setup_secrets: ['WEB_TOKEN'],
  };
  const agent = await makeAgent(t, { workspace: { repositories: { web } } }, { env });
  assert.deepEqual(agent.capabilities().tools.slice(-1), ['repository:web']);
  const run = async (contextId: string, repository: { name: string; base?: string }, brief: string) => {
    const context = makeContext();
    const result = await agent.executor.run(makeTask(brief, { contextId, task: { repository } }), context);
    return { result, fetches: fetchesIn(context.events) };
  };
  const look = '[ "$(cat a.txt) $(cat size)" = "main 12" ] && ! env | grep s3cret && echo new > b.txt';
  const one = await run('one', { name: 'web' }, block('sh', look));
  const { repository, base: from } = one.result.artifacts.delivery ?? {};
  assert.deepEqual(
    [one.result.status, one.result.artifacts.filesChanged, repository, from, one.fetches],
    ['done', ['b.txt'], 'web', base, ['started', 'done']],
  );
  const brief = block('sh', '[ "$(cat a.txt)" = release ]');
  const two = await run('two', { name: 'web', base: 'release/1' }, brief);
  assert.deepEqual([two.result.status, two.fetches], ['done', ['started', 'done']]);
});

test('a task whose repository cannot be had is blocked with the reason, before a token is spent', {
  timeout: 120_000,
}, async (t) => {
  const forge = await startForge(t, { token: 'another' });
  forge.push('web', { 'a.txt': 'main\n' });
  const web = { url: forge.server.url('web.git'), token_env: 'WEB_TOKEN' };
  const agent = await makeAgent(t, { workspace: { repositories: { web } } }, { env });
  for (const [repository, reason, fetches] of [
    [{ name: 'web' }, /refuses the token of token_env \(WEB_TOKEN\)/, ['started', 'failed']],
    [{ name: 'web', base: 'other' }, /no context may start from its branch other/, []],
    [{ name: 'docs' }, /repository docs is not in workspace\.repositories here/, []],
  ] as const) {
    const context = makeContext();
    const task = makeTask(block('sh', 'true'), { contextId: repository.name, task: { repository } });
    const result = await agent.executor.run(task, context);
    assert.deepEqual(
      [
        result.status,
        result.unmet?.map(({ kind, name }) => [kind, name]),
        context.budget.spent(),
        fetchesIn(context.events),
      ],
      ['blocked', [['repo', repository.name]], 0, fetches],
    );
    assert.match(result.blockedReason ?? '', reason);
  }
});

test('a profile whose tasks have no files has no repositories', async (t) => {
  const web = { url: 'https://git.example/web' };
  const agent = await makeAgent(t, { workspace: { repositories: { web } } }, { responseHandler: 'llm' });
  assert.deepEqual(agent.capabilities().tools, []);
});
