import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import {
  CALLER,
  DONE,
  dispatching,
  fileBundles,
  profile,
  type Script,
  untilAborted,
} from '@hermes-fleet/gateway/testing';
import type { JsonObject } from '@hermes-fleet/protocol';
import type { AdmittedTask, SentBundle } from '@hermes-fleet/protocol/ports';
import { tempDir } from '@hermes-fleet/protocol/testing';

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
    await neo.send(inContext('default', WEB));
    for (const [context, repository, words] of [
      ['c', { name: 'api' }, 'is "api", but context c began in "web"'],
      ['c', { name: 'api', base: 'release/1.2' }, 'is "api", but context c began in "web"'],
      ['c', { name: 'web', base: 'main' }, 'has the base "main", but context c began from "release/1.2"'],
      ['default', RELEASE, 'has the base "release/1.2", but context default began without one'],
    ] as const)
      await assert.rejects(neo.send(inContext(context, repository)), {
        code: 'INVALID_PARAMS',
        message: `task.repository ${words}: leave it out, or start a new context`,
      });
    assert.equal(neo.ledger.list({ pageSize: 1 }).totalSize, 2);
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

  it('does not begin with a task of another version, which no agent read', async (t) => {
    const neo = await profile(t, { repositories: REPOSITORIES, script: say });
    const foreign = dispatching({}, { protocol_version: '9.0' });
    const sent = await Promise.all([
      neo.send({ ...foreign, contextId: 'c' }),
      neo.send(inContext('c', WEB)),
      neo.send(inContext('c')),
    ]);
    const results = await Promise.all(sent.map((id) => neo.result(id)));
    assert.deepEqual(
      results.map(({ status, text }) => [status, text]),
      [
        ['blocked', undefined],
        ['done', JSON.stringify(WEB)],
        ['done', JSON.stringify(WEB)],
      ],
    );
  });
});

describe('a context that works on a checkout', () => {
  const COMMIT = 'c0'.repeat(20);
  const FIRST = { bundle: '1a'.repeat(32), base: COMMIT };
  const SECOND = { bundle: '2b'.repeat(32), base: 'c1'.repeat(20) };
  const sent = ({ bundle, base }: typeof FIRST, more: { repository?: string } = {}): SentBundle => ({
    bundle,
    commit: base,
    ...more,
  });
  async function sending(t: TestContext, ...kept: SentBundle[]) {
    const bundles = fileBundles(tempDir(t));
    for (const each of kept) bundles.keep(CALLER.name, each, each.bundle);
    const neo = await profile(t, { repositories: ['bundle', 'web'], script: say, bundles });
    const told = async (id: string) => JSON.parse((await neo.result(id)).text ?? '');
    return { neo, bundles, told };
  }

  it('goes on with the commit of its last task, and takes a newer one', async (t) => {
    const { neo, bundles, told } = await sending(t, sent(FIRST), sent(SECOND));
    for (const [repository, expected] of [
      [FIRST, FIRST],
      [undefined, FIRST],
      [SECOND, SECOND],
      [undefined, SECOND],
    ] as const) {
      const id = await neo.send(inContext('c', repository));
      assert.deepEqual(await told(id), expected);
      const { repository: event, required_capabilities } = await neo.event(id, 'submitted');
      assert.deepEqual([event, required_capabilities], [{ name: null, ...expected }, ['repository:bundle']]);
    }
    await using opened = await bundles.open('c', SECOND.base);
    assert.equal(opened.bytes, SECOND.bundle.length);
  });

  it('is not left for a configured repository, nor is one of those left for it', async (t) => {
    const { neo } = await sending(t, sent(FIRST));
    await neo.send(inContext('checkout', FIRST));
    await neo.send(inContext('web', WEB));
    await neo.send(inContext('none'));
    for (const [context, repository, words] of [
      ['checkout', WEB, 'is "web", but context checkout began in a checkout'],
      ['web', FIRST, 'is a checkout, but context web began in "web"'],
      ['web', { ...WEB, ...FIRST }, 'has a bundle, but context web began in "web" without one'],
      ['none', FIRST, 'is a checkout, but context none began without a repository'],
    ] as const)
      await assert.rejects(neo.send(inContext(context, repository)), {
        code: 'INVALID_PARAMS',
        message: `task.repository ${words}: leave it out, or start a new context`,
      });
  });

  it('is of its caller alone: others can neither name the bundle nor go on in the context', async (t) => {
    const { neo } = await sending(t, sent(FIRST));
    const other = { ...CALLER, name: 'other' };
    await assert.rejects(neo.send(inContext('c', FIRST), other), { code: 'BUNDLE_REFUSED' });
    await neo.send(inContext('c', FIRST));
    await assert.rejects(neo.send(inContext('c'), other), { code: 'BUNDLE_REFUSED' });
    assert.equal(neo.ledger.list({ pageSize: 1 }).totalSize, 1);
  });

  it('is refused with the field that does not fit its bundle, and before it is a task', async (t) => {
    const { neo } = await sending(t, sent(FIRST), sent(SECOND, { repository: 'web' }));
    for (const [repository, code, words] of [
      [{ ...FIRST, bundle: '0'.repeat(64) }, 'BUNDLE_REFUSED', /send it again/],
      [
        { ...FIRST, base: SECOND.base },
        'INVALID_PARAMS',
        new RegExp(`^task\\.repository\\.base must be ${COMMIT}`),
      ],
      [SECOND, 'INVALID_PARAMS', /^task\.repository\.name must be "web"/],
    ] as const)
      await assert.rejects(neo.send(inContext('c', repository)), { code, message: words });
    const without = await profile(t, { repositories: ['bundle'] });
    await assert.rejects(without.send(inContext('c', FIRST)), {
      code: 'BUNDLE_REFUSED',
      message: /no checkouts/,
    });
    assert.equal(neo.ledger.list({ pageSize: 1 }).totalSize, 0);
    assert.equal((await neo.result(await neo.send(inContext('c', { ...SECOND, ...WEB })))).status, 'done');
  });

  it('takes a repeated message for the same task, also when its bundle is gone', async (t) => {
    const { neo, bundles } = await sending(t, sent(FIRST));
    const id = await neo.send(inContext('c', FIRST, { task_id: 'twice' }));
    bundles.use = () => assert.fail('used twice');
    assert.equal(await neo.send(inContext('c', FIRST, { task_id: 'twice' })), id);
  });

  it('is no concern of a profile that works for an orchestrator, whose token no further task inherits', async (t) => {
    const { neo, told } = await sending(t);
    const token = 'CANARY-token';
    const id = await neo.send(inContext('c', { ...FIRST, token }));
    assert.deepEqual(await told(id), { ...FIRST, token });
    assert.doesNotMatch(JSON.stringify(neo.ledger.events(id).slice(0, -1)), /CANARY/);
    await assert.rejects(neo.send(inContext('c')), { code: 'BUNDLE_REFUSED' });
  });
});
