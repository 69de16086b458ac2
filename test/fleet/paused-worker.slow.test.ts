import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { connect, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { type Fleet, startFleet, until } from '../support/fleet.ts';
import { readLedgerFile } from '../support/ledger-file.ts';
import { call, dispatch, message, resultOf, runbook } from '../support/rpc.ts';

const NEO_URL = 'http://$' + '{NEO_HOST:-127.0.0.1}:$' + '{NEO_PORT:-9220}';

interface Line {
  readonly port: number;
  target: number;
  /** Called when neo has answered the next dispatch, before anybody reads the answer, which is lost. */
  onAnswer: (() => void) | undefined;
}

/** The line between switch and neo. */
async function lineToNeo(t: TestContext): Promise<Line> {
  const sockets = new Set<Socket>();
  const track = (socket: Socket): Socket => {
    sockets.add(socket);
    return socket.on('error', () => undefined).on('close', () => sockets.delete(socket));
  };
  const server = createServer((client) => {
    const upstream = track(connect(line.target, '127.0.0.1'));
    let carriesDispatch = false;
    track(client).on('data', (data) => {
      carriesDispatch ||= data.includes('"type":"TASK_DISPATCH"');
    });
    upstream.on('data', (data) => {
      if (!carriesDispatch || !line.onAnswer) return client.write(data);
      line.onAnswer();
      line.onAnswer = undefined;
      return client.destroy();
    });
    upstream.on('close', () => client.destroy());
    client.pipe(upstream);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const address = server.address();
  assert.ok(address !== null && typeof address === 'object');
  const line: Line = { port: address.port, target: 0, onAnswer: undefined };
  return line;
}

async function send(fleet: Fleet, brief: string): Promise<string> {
  const sent = dispatch({
    taskId: randomUUID(),
    brief,
    task: { reply_schema: 'prose' },
    routing: { target: 'neo', on_blocked: 'fail' },
  });
  const params = message(sent, { returnImmediately: true });
  return (await call(fleet.target('switch'), 'SendMessage', params)).body.result.task.id;
}

async function view(fleet: Fleet, id: string) {
  return (await call(fleet.target('switch'), 'GetTask', { id })).body.result;
}

async function isGivenUp(fleet: Fleet, id: string): Promise<void> {
  await until(async () => resultOf(await view(fleet, id)) !== undefined, 'the task to be given up');
  const { status, error, tokens_spent: spent } = resultOf(await view(fleet, id));
  assert.deepEqual([status, error.code, spent], ['error', 'peer_unreachable', 0]);
}

// biome-ignore lint/suspicious/noExplicitAny: see RpcReply
async function lateResult(fleet: Fleet, id: string): Promise<any> {
  const find = async () =>
    // biome-ignore lint/suspicious/noExplicitAny: see RpcReply
    (await view(fleet, id)).artifacts.find(({ name }: any) => name === 'late-result')?.parts[0].data;
  await until(async () => (await find()) !== undefined, 'a late result');
  return find();
}

const eventsOfNeo = (fleet: Fleet) => readLedgerFile(join(fleet.dir, 'state/neo/ledger.db')).events;

test('a worker that is paused does not run later what switch has given up', {
  timeout: 300_000,
}, async (t) => {
  const line = await lineToNeo(t);
  const fleet = await startFleet(t, ['switch', 'neo'], {
    fleetYaml: (profile, shipped) => {
      const url = `http://127.0.0.1:${line.port}`;
      const through = shipped
        .replace(`public_url: ${NEO_URL}`, `public_url: ${url}`)
        .replace(`url: ${NEO_URL}/jsonrpc`, `url: ${url}/jsonrpc`);
      return profile === 'switch' || profile === 'neo'
        ? through.replace(
            '  enabled: true\n',
            '  enabled: true\n  routing: { peer_down_after_s: 3 }\n  announce: { ttl_s: 15 }\n',
          )
        : through;
    },
    onPlanned: (plan) => {
      line.target = Number(new URL(plan.profiles.find(({ name }) => name === 'neo')?.url ?? '').port);
    },
  });
  const neo = () => fleet.process('neo').pid;

  await t.test('before the dispatch: it refuses it when it reads it', async () => {
    process.kill(neo(), 'SIGSTOP');
    const id = await send(fleet, runbook('before.txt', 'x', 'cat before.txt'));
    await isGivenUp(fleet, id);
    process.kill(neo(), 'SIGCONT');
    await until(
      () => fleet.log('switch').includes('task that was given up is not at its peer'),
      'the cancel',
    );
    assert.deepEqual(eventsOfNeo(fleet), []);
    assert.ok(!JSON.stringify((await view(fleet, id)).artifacts).includes('late-result'));
  });

  await t.test(
    'between its acceptance and the answer: it is told to cancel, after a crash of switch too',
    async () => {
      line.onAnswer = () => process.kill(neo(), 'SIGSTOP');
      const id = await send(fleet, runbook('during.txt', 'x', 'sleep 60', 'cat during.txt'));
      await isGivenUp(fleet, id);
      await fleet.kill('switch');
      process.kill(neo(), 'SIGCONT');
      await fleet.up();
      const late = await lateResult(fleet, id);
      assert.deepEqual([late.status, late.error.code, late.executed_by], ['error', 'canceled', 'neo']);
      assert.equal(eventsOfNeo(fleet).filter(({ type }) => type === 'canceled').length, 1);
      await isGivenUp(fleet, id);
    },
  );

  await t.test('while it works: the same, and its tokens are in the late result', async () => {
    const id = await send(fleet, runbook('after.txt', 'x', 'sleep 60', 'cat after.txt'));
    const spent = async (): Promise<number> =>
      [...(await fleet.metrics('neo')).matchAll(/^fleet_tokens_spent_total\{[^}]*\} (\d+)$/gm)].reduce(
        (sum, [, tokens]) => sum + Number(tokens),
        0,
      );
    const before = await spent();
    await until(async () => (await spent()) > before, 'neo to work');
    process.kill(neo(), 'SIGSTOP');
    await isGivenUp(fleet, id);
    process.kill(neo(), 'SIGCONT');
    const late = await lateResult(fleet, id);
    assert.equal(late.error.code, 'canceled');
    assert.ok(late.tokens_spent > 0, JSON.stringify(late));
    await isGivenUp(fleet, id);
  });
});
