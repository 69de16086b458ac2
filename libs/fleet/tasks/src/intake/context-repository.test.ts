import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { CALLER, DONE, dispatching, profile, type Script, untilAborted } from '@hermes-fleet/gateway/testing';
import type { JsonObject } from '@hermes-fleet/protocol';
import type { AdmittedTask } from '@hermes-fleet/protocol/ports';

const REPOSITORIES = ['web', 'api'];
const say: Script = async ({ dispatch }) => ({
  ...DONE,
  text: JSON.stringify(dispatch.task.repository ?? null),
});
const inContext = (contextId: string, repository?: JsonObject, rest: JsonObject = {}) => ({
  ...dispatching(repository ? { repository, ...rest } : rest),
  contextId,
});
const WEB = { name: 'web' };
const RELEASE = { name: 'web', base: 'release/1.2' };

describe('a context that began in a repository', () => {
  it('is where further tasks go on: those without one, those with the same, and text', async (t) => {
    const neo = await profile(t, { repositories: REPOSITORIES, script: say });
    for (const message of [
      inContext('c', RELEASE),
      inContext('c'),
      inContext('c', WEB),
      inContext('c', { ...WEB, x_note: 1 }),
      { text: 'go on', contextId: 'c' },
      { text: 'TASK DISPATCH (inline)\nrepository: {name: web}\nBrief: go on', contextId: 'c' },
    ]) {
      const id = await neo.send(message);
      const { name, base } = JSON.parse((await neo.result(id)).text ?? '');
      assert.deepEqual({ name, base }, RELEASE);
      assert.deepEqual((await neo.event(id, 'submitted')).repository, RELEASE);
      assert.deepEqual((await neo.event(id, 'submitted')).required_capabilities, ['repository:web']);
    }
    assert.equal((await neo.result(await neo.send(inContext('another')))).text, 'null');
    assert.equal((await neo.result(await neo.send({ text: 'new' }))).text, 'null');
  });

  it('refuses another repository, and another base, with both names and the remedy', async (t) => {
    const neo = await profile(t, { repositories: REPOSITORIES });
    await neo.send(inContext('c', RELEASE));
    for (const [repository, words] of [
      [{ name: 'api' }, 'is "api", but context c began in "web"'],
      [{ name: 'api', base: 'release/1.2' }, 'is "api", but context c began in "web"'],
      [{ name: 'web', base: 'main' }, 'has the base "main", but context c began from "release/1.2"'],
    ] as const)
      await assert.rejects(neo.send(inContext('c', repository)), {
        code: 'INVALID_PARAMS',
        message: `task.repository ${words}: leave it out, or start a new context`,
      });
    assert.equal(neo.ledger.list({ pageSize: 1 }).totalSize, 1);
  });

  it('passes on a base if it began without one', async (t) => {
    const neo = await profile(t, { repositories: REPOSITORIES, script: say });
    await neo.send(inContext('c', WEB));
    const named = await neo.send(inContext('c', RELEASE));
    assert.equal((await neo.result(named)).text, JSON.stringify(RELEASE));
    assert.equal((await neo.result(await neo.send(inContext('c')))).text, JSON.stringify(WEB));
  });

  it('belongs to it also if its first task was blocked, or is still being accepted', async (t) => {
    const neo = await profile(t, { repositories: ['api'], script: say });
    const blocked = await neo.result(await neo.send(inContext('c', WEB)));
    assert.deepEqual(
      blocked.unmet?.map(({ kind, name }) => [kind, name]),
      [['capability', 'repository:web']],
    );
    await assert.rejects(neo.send(inContext('c', { name: 'api' })), { code: 'INVALID_PARAMS' });
    const api = { name: 'api' };
    const [first, second, other] = await Promise.allSettled([
      neo.send(inContext('together', api)),
      neo.send(inContext('together')),
      neo.send(inContext('together', WEB)),
    ]);
    assert.ok(first.status === 'fulfilled' && second.status === 'fulfilled');
    assert.equal((await neo.result(second.value)).text, JSON.stringify(api));
    assert.equal(other.status, 'rejected');
  });

  it('takes a repeated message for the same task', async (t) => {
    const neo = await profile(t, { repositories: REPOSITORIES });
    const key = { task_id: 'twice' };
    await neo.send(inContext('c', RELEASE));
    const id = await neo.send(inContext('c', undefined, key));
    assert.equal(await neo.send(inContext('c', undefined, key)), id);
    await assert.rejects(neo.send(inContext('c', RELEASE, key)), { code: 'TASK_ID_CONFLICT' });
  });

  it('is where an interrupted task goes on after a restart', async (t) => {
    const seen: AdmittedTask[] = [];
    const script: Script = async (task, context) => {
      if (seen.push(task) > 1) return DONE;
      return untilAborted(task, context);
    };
    const neo = await profile(t, { repositories: REPOSITORIES });
    await neo.result(await neo.send(inContext('c', RELEASE)));
    await neo.restart(script);
    const id = await neo.send(inContext('c'));
    await neo.event(id, 'started');
    await neo.restart(script);
    assert.equal((await neo.result(id)).status, 'done');
    assert.deepEqual(
      seen.map(({ dispatch }) => dispatch.task.repository),
      [RELEASE, RELEASE],
    );
    assert.deepEqual(seen[1]?.dispatch.requirements?.requiredCapabilities, ['repository:web']);
  });

  it('is free again when it is deleted', async (t) => {
    const neo = await profile(t, { repositories: REPOSITORIES, script: say });
    await neo.result(await neo.send(inContext('c', WEB)));
    await neo.gateway.contexts.delete({ contextId: 'c', caller: CALLER.name, results: 'delete' });
    const id = await neo.send(inContext('c', { name: 'api' }));
    assert.equal((await neo.result(id)).text, '{"name":"api"}');
  });
});

describe('a context that began without a repository', () => {
  it('refuses one, with the remedy', async (t) => {
    const neo = await profile(t, { repositories: REPOSITORIES });
    await neo.send({ text: 'hello', contextId: 'c' });
    await assert.rejects(neo.send(inContext('c', WEB)), {
      code: 'INVALID_PARAMS',
      message:
        'task.repository is "web", but context c began without a repository: leave it out, or start a new context',
    });
    assert.equal((await neo.result(await neo.send(inContext('c')))).status, 'done');
  });
});
