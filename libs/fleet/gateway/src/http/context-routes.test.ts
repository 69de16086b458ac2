import assert from 'node:assert/strict';
import { request } from 'node:http';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { tempDir } from '@hermes-fleet/protocol/testing';
import { routes, TOKENS } from '../../testing/fleet-routes.ts';
import { folderContexts } from '../../testing/folder-contexts.ts';
import { dispatching } from '../../testing/messages.ts';
import { CALLER, untilAborted } from '../../testing/scripts.ts';

const PATH = '/fleet/contexts/c';

/** Asks for a path as it is; `fetch` would remove dots. */
const deleteRaw = (url: string, path: string): Promise<{ status: number; text: string }> =>
  new Promise((resolve, reject) => {
    const { hostname, port } = new URL(url);
    const headers = { authorization: `Bearer ${TOKENS.operator}` };
    const asked = request({ hostname, port, path, method: 'DELETE', headers }, async (reply) => {
      let text = '';
      for await (const chunk of reply) text += chunk;
      resolve({ status: reply.statusCode ?? 0, text });
    });
    asked.on('error', reject).end();
  });

test('DELETE /fleet/contexts/:id needs a token with the scope dispatch', async (t) => {
  const { ask } = await routes(t, {});
  assert.equal((await ask('DELETE', PATH, undefined, 'nobody-knows-this-token')).status, 401);
  const { status, body } = await ask('DELETE', PATH, undefined, TOKENS.reader);
  assert.deepEqual([status, body.error.code], [403, 'FORBIDDEN']);
  assert.match(body.error.message, /dispatch/);
  assert.equal((await ask('DELETE', PATH, undefined, TOKENS.sender)).status, 404);
});

test('it deletes the context of the caller once, and answers alike for one of others and for none', async (t) => {
  const contexts = folderContexts(tempDir(t));
  const { ask, one, tasks } = await routes(t, { script: contexts.script, contexts });
  const id = await one.send({ ...dispatching({ task_id: 'mine' }), contextId: 'c' });
  await one.result(id);
  const foreign = await ask('DELETE', PATH, undefined, TOKENS.sender);
  const unknown = await ask('DELETE', '/fleet/contexts/none', undefined, TOKENS.sender);
  assert.deepEqual([foreign.status, unknown.status], [404, 404]);
  assert.equal(foreign.text.replaceAll('context c ', 'context none '), unknown.text);
  assert.equal(tasks(), 1);

  const { status, body } = await ask('DELETE', `${PATH}?results=delete`);
  assert.equal(status, 200);
  assert.deepEqual(body, { context_id: 'c', tasks: 1, files: true, result: 'deleted', peers: [] });
  assert.deepEqual(contexts.removals, [['c', { results: 'delete' }]]);
  assert.equal(tasks(), 0);
  assert.equal((await ask('DELETE', PATH)).status, 404);
});

test('a deletion that is not complete reports its state again', async (t) => {
  const contexts = folderContexts(tempDir(t));
  contexts.failures = 1;
  const { ask, one } = await routes(t, { script: contexts.script, contexts, random: () => 1 });
  await one.result(await one.send({ ...dispatching(), contextId: 'c' }));
  const pending = { context_id: 'c', tasks: 1, files: false, result: 'pending', peers: [] };
  for (const _time of [1, 2]) assert.deepEqual((await ask('DELETE', PATH)).body, pending);
  // Asking for more begins anew.
  const more = await ask('DELETE', `${PATH}?results=delete`);
  assert.deepEqual(more.body, { ...pending, files: true, result: 'deleted' });
});

test('a deletion is pending while another process reads the ledger', async (t) => {
  const { ask, one } = await routes(t, {});
  await one.result(await one.send({ ...dispatching(), contextId: 'c' }));
  const reader = new DatabaseSync(join(one.dir, 'ledger.db'), { readOnly: true });
  t.after(() => reader.close());
  reader.exec('BEGIN');
  reader.prepare('SELECT count(*) FROM tasks').get();
  const { body } = await ask('DELETE', PATH);
  assert.deepEqual(body, { context_id: 'c', tasks: 1, files: false, result: 'pending', peers: [] });
});

test('409 names the unfinished tasks, and says nothing of another caller', async (t) => {
  const { ask, one, tasks } = await routes(t, { script: untilAborted });
  const id = await one.send({ ...dispatching(), contextId: 'c' });
  await one.firstRun;
  const busy = await ask('DELETE', PATH);
  assert.deepEqual([busy.status, busy.body.error.code], [409, 'CONTEXT_IN_USE']);
  assert.match(busy.body.error.message, new RegExp(`${id}.*cancel`));
  const other = await one.send({ ...dispatching(), contextId: 'c' }, { ...CALLER, name: 'neighbour' });
  const shared = await ask('DELETE', PATH);
  assert.deepEqual([shared.status, shared.body.error.code], [409, 'CONTEXT_SHARED']);
  assert.ok(!shared.text.includes('neighbour') && !shared.text.includes(other));
  assert.equal(tasks(), 2);
});

test('a wrong query is refused with the names of its parameters, and deletes nothing', async (t) => {
  const { ask, one, tasks } = await routes(t, {});
  await one.result(await one.send({ ...dispatching(), contextId: 'c' }));
  for (const [query, path] of [
    ['?results=all', 'results'],
    ['?results=', 'results'],
    ['?results=keep&results=delete', 'results'],
    ['?result=delete', 'result'],
  ]) {
    const { status, body } = await ask('DELETE', `${PATH}${query}`);
    assert.deepEqual(
      [status, body.error.code, body.error.fields[0].path],
      [400, 'INVALID_PARAMS', path],
      query,
    );
  }
  assert.equal(tasks(), 1);
});

test('every context id that a URL can name can be deleted', async (t) => {
  const { ask, one, tasks } = await routes(t, {});
  for (const contextId of ['/'.repeat(256), 'ü ?#%2F&results=x', '\u{1f600}'.repeat(128)]) {
    await one.result(await one.send({ ...dispatching(), contextId }));
    const { status, body } = await ask('DELETE', `/fleet/contexts/${encodeURIComponent(contextId)}`);
    assert.deepEqual([status, body.context_id], [200, contextId]);
  }
  assert.equal(tasks(), 0);
});

test('a context id that URL parsers remove is refused, and nothing is deleted', async (t) => {
  const { ask, one, tasks, url } = await routes(t, {});
  for (const contextId of ['.', '..']) await one.result(await one.send({ ...dispatching(), contextId }));
  for (const id of ['.', '..', '%2e', '%2e%2E', '']) {
    const { status, text } = await deleteRaw(url, `/fleet/contexts/${id}`);
    const { error } = JSON.parse(text);
    assert.deepEqual([status, error.code, error.fields[0].path], [400, 'INVALID_PARAMS', 'context_id'], id);
    assert.match(error.message, /^context_id is .*only the retention removes it$/);
  }
  assert.equal((await ask('DELETE', '/fleet/contexts/..')).status, 404, 'fetch asks for /fleet/');
  assert.equal(tasks(), 2);
});

test('the error of an unknown context has its id, which peers rely on', async (t) => {
  const { ask } = await routes(t, {});
  for (const id of ['a/b c', 'ü\u0007"'.repeat(40)]) {
    const { status, body } = await ask('DELETE', `/fleet/contexts/${encodeURIComponent(id)}`);
    assert.deepEqual([status, body.error.message], [404, `context ${id} is not known`]);
  }
});
