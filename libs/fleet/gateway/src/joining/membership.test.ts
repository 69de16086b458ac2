import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { announceOf } from '@hermes-fleet/peers/testing';
import { joiningApp, listener, OPERATOR, presented, request } from '../../testing/joining-app.ts';

describe('a membership', () => {
  it('takes no name of a worker that joined without a join token, while that is live or has tasks', async (t) => {
    const app = await joiningApp(t);
    const { endpoint } = await listener(t);
    const replica = announceOf('morpheus-1', { endpoint: 'http://127.0.0.1:9250' });
    const { outcome } = await app.peers().record(replica, {
      name: 'morpheus',
      scopes: new Set(['announce', 'join']),
    });
    assert.deepEqual([outcome, app.peers().get('morpheus-1')?.standing], ['recorded', 'joined']);
    const { token } = await app.create({ expires_s: 86_400 });
    const ask = () => app.ask('POST', '/fleet/join', token, request('morpheus-1', endpoint));
    const task = app.peers().health('morpheus-1')?.trackTask();
    for (const when of ['it is live', 'it has a task']) {
      const refused = await ask();
      assert.equal(refused.status, 403, when);
      assert.match(refused.body.error.message, /without a join token has the name morpheus-1/);
      assert.equal(app.peers().get('morpheus-1')?.endpoint?.url, 'http://127.0.0.1:9250/jsonrpc');
      app.clock.advance(3_600_000);
    }
    task?.[Symbol.dispose]();
    const joined = await ask();
    assert.equal(joined.status, 200, JSON.stringify(joined.body));
  });

  it('ends when the worker leaves and has no task, and its token is none from then on', async (t) => {
    const app = await joiningApp(t);
    const { endpoint } = await listener(t);
    await app.ask('POST', '/fleet/join', (await app.create()).token, request('worker-7', endpoint));
    const own = presented('worker-7');
    const task = app.peers().health('worker-7')?.trackTask();
    const leave = () => app.ask('POST', '/fleet/membership/leave', own, {});
    assert.deepEqual([(await leave()).body.state, (await leave()).body.tasks], ['leaving', 1]);
    assert.equal(app.peers().get('worker-7')?.leaving, true);
    assert.equal(app.peers().membership('worker-7')?.aborted, false);
    task?.[Symbol.dispose]();
    assert.equal((await leave()).body.state, 'left');
    assert.equal((await leave()).status, 401);
    assert.equal(app.peers().get('worker-7'), undefined);
    const again = await app.ask(
      'POST',
      '/fleet/join',
      (await app.create()).token,
      request('worker-7', endpoint),
    );
    assert.equal(again.status, 200, 'it may join again');
  });

  it('is still leaving after a restart, and ends at once with now', async (t) => {
    const app = await joiningApp(t);
    const { endpoint } = await listener(t);
    await app.ask('POST', '/fleet/join', (await app.create()).token, request('worker-7', endpoint));
    const own = presented('worker-7');
    const task = app.peers().health('worker-7')?.trackTask();
    await app.ask('POST', '/fleet/membership/leave', own, {});
    task?.[Symbol.dispose]();
    await app.restart();
    assert.equal((await app.ask('GET', '/fleet/membership', own)).body.state, 'leaving');
    app.peers().health('worker-7')?.trackTask();
    const membership = app.peers().membership('worker-7');
    const left = await app.ask('POST', '/fleet/membership/leave', own, { now: true });
    assert.deepEqual([left.body.state, left.body.tasks], ['left', 1]);
    assert.match(membership?.reason.message, /worker-7 has left/);
  });

  it('is revoked at once, also over a restart; an unknown one is named', async (t) => {
    const app = await joiningApp(t);
    const { endpoint } = await listener(t);
    await app.ask('POST', '/fleet/join', (await app.create()).token, request('worker-7', endpoint));
    const membership = app.peers().membership('worker-7');
    const revoked = await app.ask('DELETE', '/fleet/workers/worker-7', OPERATOR);
    assert.deepEqual(revoked.body, { name: 'worker-7', state: 'revoked', tasks: 0 });
    assert.match(membership?.reason.message, /worker-7 was revoked/);
    for (const when of ['at once', 'after a restart']) {
      assert.equal((await app.ask('GET', '/fleet/membership', presented('worker-7'))).status, 401, when);
      assert.equal(app.peers().get('worker-7'), undefined, when);
      await app.restart();
    }
    assert.equal((await app.ask('DELETE', '/fleet/workers/worker-7', OPERATOR)).status, 404);
  });
});
