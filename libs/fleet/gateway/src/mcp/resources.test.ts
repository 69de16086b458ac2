import assert from 'node:assert/strict';
import { test } from 'node:test';
import { callTool } from '@hermes-fleet/mcp/testing';
import type { ArtifactPart } from '@hermes-fleet/protocol/ports';
import { mcpFleet, serveMcp } from '../../testing/mcp-fleet.ts';
import { profile } from '../../testing/profile.ts';
import { spending } from '../../testing/relay-fleet.ts';
import { DONE, untilAborted } from '../../testing/scripts.ts';

const jsonOf = ({ contents: [content] }: { contents: object[] }) =>
  JSON.parse(content && 'text' in content ? String(content.text) : '');

test('the result and the events of a task are resources of its caller', async (t) => {
  const { connect } = await mcpFleet(t, spending(7));
  const client = await connect();
  assert.deepEqual((await client.listResources()).resources, []);
  const task = await callTool(client, 'fleet_dispatch', { brief: 'x', task_id: 'mine' });
  const { resources } = await client.listResources();
  assert.deepEqual(
    resources.map(({ uri, name, mimeType }) => [uri, name, mimeType]),
    [[`fleet://tasks/${task.id}/result`, 'result of mine', 'application/json']],
  );
  const { resourceTemplates } = await client.listResourceTemplates();
  assert.equal(resourceTemplates.length, 3);
  assert.deepEqual(jsonOf(await client.readResource({ uri: resources[0]?.uri ?? '' })), task.result);
  const uri = `fleet://tasks/${task.id}/events`;
  const all = jsonOf(await client.readResource({ uri }));
  const types = all.events.map(({ type }: { type: string }) => type);
  assert.deepEqual([types[0], types.at(-1), all.next_after], ['submitted', 'done', null]);
  const rest = jsonOf(await client.readResource({ uri: `${uri}?after=${all.events[0].seq}` }));
  assert.deepEqual(rest.events, all.events.slice(1));
});

test('the artifacts of a task are resources of its caller, and the tools name them', async (t) => {
  const parts: ArtifactPart[] = [
    { kind: 'text', text: 'first' },
    { kind: 'data', data: { rows: 2 } },
    { kind: 'file', base64: btoa('bytes'), name: 'a.bin', mediaType: 'application/x-a' },
    { kind: 'text', text: 'x'.repeat(300_000), mediaType: 'text/csv' },
  ];
  const one = await profile(t, {
    isFreeOfEffects: true,
    script: async (_task, { artifacts }) => {
      await artifacts?.add({ id: 'a report', place: 0, name: 'report.txt', parts, isLast: true });
      return DONE;
    },
  });
  const { connect } = await serveMcp(t, one);
  const client = await connect();
  const { id, artifacts } = await callTool(client, 'fleet_dispatch', { brief: 'x' });
  const uri = `fleet://tasks/${id}/artifacts/a%20report`;
  const media_types = ['text/plain', 'application/json', 'application/x-a', 'text/csv'];
  assert.deepEqual(artifacts, [{ id: 'a report', name: 'report.txt', media_types, uri }]);
  const { contents } = await client.readResource({ uri });
  const seq = one.ledger.artifacts(id)[0]?.seq;
  assert.deepEqual(contents, [
    { uri, mimeType: 'text/plain', text: 'first' },
    { uri, mimeType: 'application/json', text: '{"rows":2}' },
    { uri, mimeType: 'application/x-a', blob: btoa('bytes') },
    { uri, mimeType: 'text/uri-list', text: `/artifacts/${id}/${seq}/3` },
  ]);
  await assert.rejects(client.readResource({ uri: `${uri}2` }), /has nothing for you/);
});

test('what a caller has not is not found, in the same words whether it exists or not', async (t) => {
  const { connect } = await mcpFleet(t, untilAborted);
  const mine = await connect();
  const other = await connect('other');
  const sender = await connect('sender');
  const { id } = await callTool(mine, 'fleet_dispatch', { brief: 'x', wait_s: 0 });
  const words = async (client: typeof mine, uri: string): Promise<string> => {
    const refused = await client.readResource({ uri }).catch((error: Error) => error.message);
    return String(refused).replaceAll(/tasks\/[^/]+/g, 'tasks/<id>');
  };
  for (const kind of ['result', 'events', 'artifacts/a']) {
    const foreign = await words(other, `fleet://tasks/${id}/${kind}`);
    assert.match(foreign, /has nothing for you/);
    assert.equal(foreign, await words(other, `fleet://tasks/ghost/${kind}`));
  }
  assert.match(await words(mine, `fleet://tasks/${id}/result`), /the task has not ended/);
  for (const uri of [
    'fleet://tasks/%E0%A4%A/result',
    'file:///etc/passwd',
    'fleet://tasks/a/b/result',
    `fleet://tasks/${id}/artifacts`,
    `fleet://tasks/${id}/result/a`,
  ])
    assert.match(await words(mine, uri), /has nothing for you/, uri);
  assert.deepEqual((await other.listResources()).resources, []);
  await assert.rejects(sender.listResources(), /lacks the scope "read"/);
  await callTool(mine, 'fleet_cancel', { id });
  assert.equal((await mine.listResources()).resources.length, 1);
  assert.deepEqual((await other.listResources()).resources, []);
});

test('a long log is read in pages', async (t) => {
  const one = await profile(t, {
    isFreeOfEffects: true,
    script: async (_task, { reportEvent }) => {
      for (let step = 0; step < 300; step += 1)
        await Promise.all([
          reportEvent({ type: 'progress', data: { step } }),
          reportEvent({ type: 'text', text: 'secret words' }),
        ]);
      return DONE;
    },
  });
  const { connect } = await serveMcp(t, one);
  const client = await connect();
  const { id } = await callTool(client, 'fleet_dispatch', { brief: 'x', wait_s: 60 });
  const uri = `fleet://tasks/${id}/events`;
  const first = jsonOf(await client.readResource({ uri }));
  const second = jsonOf(await client.readResource({ uri: `${uri}?after=${first.next_after}` }));
  const events = [...first.events, ...second.events];
  assert.deepEqual(
    events.filter(({ type }) => type === 'progress').map(({ data }) => data.step),
    Array.from({ length: 300 }, (_, step) => step),
  );
  assert.equal(second.next_after, null);
  assert.ok(!JSON.stringify(events).includes('secret words'));
});

test('an error of the ledger is logged, and its text is not shown', async (t) => {
  const one = await profile(t);
  const { connect, log } = await serveMcp(t, {
    ...one,
    gateway: one.gateway,
    peers: one.peers,
    ledger: Object.assign(Object.create(one.ledger), {
      list() {
        throw new Error('/secret/path is broken');
      },
    }),
  });
  const client = await connect();
  await assert.rejects(client.listResources(), (error: Error) => !error.message.includes('secret'));
  const { fields } = await log.saw(/^a call over MCP failed/);
  assert.match(String(Object(fields).err), /secret/);
  await assert.rejects(callTool(client, 'fleet_tasks'), (error: Error) => !error.message.includes('secret'));
});
