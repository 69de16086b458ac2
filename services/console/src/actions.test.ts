import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { asking, DONE, freePort, profile, type Script } from '@hermes-fleet/gateway/testing';
import { deadline } from '@hermes-fleet/protocol/testing';
import { startTestConsole } from '../testing/console.ts';
import type { ContentDocument } from './http/content.ts';
import type { SessionDocument } from './http/session.ts';

const TOKEN = 'token-of-operator-for-switch';
const MARKUP = '<img src=x onerror=alert(1)>';

/** A console whose entry is a real profile that runs this script. */
async function withProfile(t: TestContext, script: Script) {
  const port = await freePort();
  const entry = await profile(t, { name: 'switch', script, agents: { switch: port } });
  await entry.serve();
  const profiles = { switch: { url: `http://127.0.0.1:${port}` }, neo: { url: 'http://127.0.0.1:1' } };
  const fleet = await startTestConsole(t, { config: { profiles } });
  return { entry, fleet, browser: await fleet.signIn() };
}

const dispatch = (taskId: string) => ({
  type: 'TASK_DISPATCH',
  protocol_version: '2.0',
  task: { task_id: taskId },
  brief: MARKUP,
});
const errorOf = async (response: Response): Promise<unknown[]> => {
  const { error } = (await response.json()) as { error: { code: string } };
  return [response.status, error.code];
};

test('a person sends, reads, answers and downloads with a token of its own', deadline, async (t) => {
  const script: Script = async (task, context) => {
    const first = await asking('which one?')(task, context);
    const file = {
      kind: 'file',
      name: 'r\u00e9sum\u00e9 "x".html',
      base64: btoa(MARKUP),
      mediaType: 'text/html',
    } as const;
    await context.artifacts?.add({ id: 'page', place: 0, name: 'page', parts: [file], isLast: true });
    return first;
  };
  const { entry, browser } = await withProfile(t, script);
  const task = { dispatch: dispatch('flight-1') };
  for (const [path, body] of [
    ['/api/send', task],
    ['/api/route', task],
    ['/api/tasks/switch/x/cancel', {}],
  ] as const)
    assert.deepEqual(await errorOf(await browser.send('POST', path, body)), [403, 'TOKEN_NEEDED'], path);
  assert.deepEqual(await errorOf(await browser.get('/api/tasks/switch/x/content')), [403, 'TOKEN_NEEDED']);

  const wrong = await browser.send('POST', '/api/token', { token: 'wrong-token-0123456789' });
  assert.deepEqual(await errorOf(wrong), [401, 'UNAUTHENTICATED']);
  const held = (await (await browser.send('POST', '/api/token', { token: TOKEN })).json()) as SessionDocument;
  assert.equal(held.caller, 'operator');
  assert.deepEqual([...held.scopes].sort(), ['announce', 'dispatch', 'read']);

  const routed = await browser.send('POST', '/api/route', task);
  assert.deepEqual([routed.status, 'considered' in ((await routed.json()) as object)], [200, true]);
  const sent = await browser.send('POST', '/api/send', task);
  const { id } = (await sent.json()) as { id: string };
  assert.deepEqual([sent.status, entry.task(id).caller], [202, 'operator']);
  await entry.event(id, 'input_required');
  const asked = await browser.json<ContentDocument>(`/api/tasks/switch/${id}/content`);
  assert.deepEqual([asked.brief, asked.question, asked.result], [MARKUP, 'which one?', null]);
  const answered = await browser.send('POST', `/api/tasks/switch/${id}/answer`, { text: 'this one' });
  assert.equal(answered.status, 202);
  await entry.result(id);

  const done = await browser.json<ContentDocument>(`/api/tasks/switch/${id}/content`);
  assert.deepEqual([done.text, done.question, done.result?.status], ['this one', null, 'done']);
  const [page] = done.artifacts;
  assert.deepEqual([page?.media_type, page?.text], ['text/html', null]);
  const download = await browser.get(page?.href ?? '');
  assert.equal(await download.text(), MARKUP);
  assert.equal(download.headers.get('content-type'), 'application/octet-stream');
  assert.match(
    download.headers.get('content-disposition') ?? '',
    /^attachment; filename\*=UTF-8''r%C3%A9sum%C3%A9/,
  );
  assert.equal(download.headers.get('x-content-type-options'), 'nosniff');
  assert.match(download.headers.get('content-security-policy') ?? '', /sandbox/);
  const missing = await browser.get(`/api/tasks/switch/${id}/artifacts/other`);
  assert.deepEqual(await errorOf(missing), [404, 'NOT_FOUND']);

  await browser.send('DELETE', '/api/token');
  assert.deepEqual(await errorOf(await browser.get(`/api/tasks/switch/${id}/content`)), [
    403,
    'TOKEN_NEEDED',
  ]);
});

test('the token is of one session, and a restart forgets it but ends no session', deadline, async (t) => {
  const { fleet, browser } = await withProfile(t, async () => DONE);
  assert.equal((await browser.send('POST', '/api/token', { token: TOKEN })).status, 200);
  const other = await fleet.signIn();
  assert.equal((await other.json<SessionDocument>('/api/session')).caller, null);
  const next = await fleet.restart();
  const response = await fetch(`${next.url}/api/session`, { headers: { cookie: browser.cookie } });
  const session = (await response.json()) as SessionDocument;
  assert.deepEqual([response.status, session.caller, session.profiles], [200, null, ['switch', 'neo']]);
});

test('a profile that is away or refuses is named with its reason', deadline, async (t) => {
  const { entry, browser } = await withProfile(t, async () => DONE);
  await browser.send('POST', '/api/token', { token: TOKEN });
  const unknown = await browser.get('/api/tasks/switch/nope/content');
  assert.deepEqual(await errorOf(unknown), [404, 'TASK_NOT_FOUND']);
  const bad = await browser.send('POST', '/api/send', { dispatch: { ...dispatch('a'), deadline: 'soon' } });
  const { error } = (await bad.json()) as { error: { code: string; fields: { path: string }[] } };
  assert.deepEqual([error.code, error.fields.map(({ path }) => path)], ['INVALID_PARAMS', ['deadline']]);
  const deep = JSON.parse(`${'{"a":'.repeat(1_600)}1${'}'.repeat(1_600)}`);
  for (const path of ['/api/send', '/api/route'])
    assert.deepEqual(await errorOf(await browser.send('POST', path, { dispatch: deep })), [
      400,
      'INVALID_REQUEST',
    ]);
  assert.deepEqual(await errorOf(await browser.get('/api/tasks/neo/x/content')), [502, 'PEER_UNREACHABLE']);
  assert.deepEqual(await errorOf(await browser.get('/api/tasks/other/x/content')), [404, 'NOT_FOUND']);
  await entry.end();
  assert.deepEqual(await errorOf(await browser.send('POST', '/api/route', { dispatch: {} })), [
    502,
    'PEER_UNREACHABLE',
  ]);
  assert.equal((await browser.get('/api/fleet')).status, 200);
});
