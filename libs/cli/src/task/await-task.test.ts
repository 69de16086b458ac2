import assert from 'node:assert/strict';
import { EventEmitter, once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { type TestContext, test } from 'node:test';
import { CTRL_C, DOWN, ENTER, openTerminal } from '../../../../test/support/terminal.ts';

const MAIN = join(import.meta.dirname, '../main.ts');
const MENU = /The task is not done[\s\S]*go on watching/;
/** Loaded into the command: writes a mark when the command hears of an interrupt, which nothing else on the terminal shows. */
const MARK_INTERRUPTS = 'data:text/javascript,process.on("SIGINT",()=>process.stderr.write("[heard]"))';

/** An agent with one task, whose state the test sets: whoever watches it hears of that. */
async function agent(t: TestContext) {
  let [state, question] = ['WORKING', ''];
  let isDoneAtCancel = false;
  const calls: { readonly method: string; readonly params: Record<string, never> }[] = [];
  const watching = new Set<ServerResponse>();
  const events = new EventEmitter();
  const task = () => ({
    id: 't',
    contextId: 'c',
    status: {
      state: `TASK_STATE_${state}`,
      message: { messageId: 'm', role: 'ROLE_AGENT', parts: [{ text: question }] },
    },
  });
  const tell = (to: ServerResponse) =>
    to.write(`data: ${JSON.stringify({ jsonrpc: '2.0', id: 1, result: { task: task() } })}\n\n`);
  const become = (next: string, asks = ''): void => {
    [state, question] = [next, asks];
    for (const each of watching) tell(each);
  };
  const server = createServer(async (request, response) => {
    const body = await text(request);
    const supportedInterfaces = [{ url, protocolBinding: 'JSONRPC', protocolVersion: '1.0' }];
    if (body === '')
      return void response.end(
        JSON.stringify({ name: 'A', supportedInterfaces, capabilities: { streaming: true } }),
      );
    const { method, params } = JSON.parse(body);
    calls.push({ method, params });
    if (method === 'SubscribeToTask') {
      watching.add(response);
      response.once('close', () => {
        watching.delete(response);
        events.emit('left');
      });
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      return void tell(response);
    }
    if (method === 'CancelTask') become(isDoneAtCancel ? 'COMPLETED' : 'CANCELED');
    if (method === 'SendMessage') become('COMPLETED');
    const result = method === 'SendMessage' ? { task: task() } : task();
    const error = { code: -32002, message: 'it has ended' };
    const isRefused = method === 'CancelTask' && isDoneAtCancel;
    response.end(JSON.stringify({ jsonrpc: '2.0', id: 1, ...(isRefused ? { error } : { result }) }));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  assert.ok(address !== null && typeof address === 'object');
  const url = `http://127.0.0.1:${address.port}/`;
  return {
    become,
    calls,
    /** Resolves when a watcher has closed its stream, and so has heard the last state. */
    left: () => once(events, 'left'),
    endBeforeCancel: () => {
      isDoneAtCancel = true;
    },
    watch: () =>
      openTerminal(t, [
        ...['sh', '-c', 'echo "pid $$."; exec "$@"', 'sh'],
        ...[process.execPath, '--import', MARK_INTERRUPTS, MAIN, 'watch', 't', '--url', url],
      ]),
  };
}

test('the menu of Ctrl-C closes when the task ends, and the result is printed', async (t) => {
  const { watch, become } = await agent(t);
  const terminal = watch();
  await terminal.waitFor(/working/);
  terminal.type(CTRL_C);
  await terminal.waitFor(MENU);
  become('COMPLETED');
  await terminal.waitFor(/status {5}completed/);
  assert.equal(await terminal.ended, 0);
});

test('a question is asked after the menu of Ctrl-C is answered, which does not answer it', async (t) => {
  const { watch, become, calls, left } = await agent(t);
  const terminal = watch();
  await terminal.waitFor(/working/);
  terminal.type(CTRL_C);
  await terminal.waitFor(MENU);
  const heard = left();
  become('INPUT_REQUIRED', 'Which room?');
  await heard;
  terminal.type(`${DOWN}${DOWN}${ENTER}`);
  await terminal.waitFor(/Which room\?/);
  terminal.type(`The blue one.${ENTER}`);
  await terminal.waitFor(/status {5}completed/);
  assert.equal(await terminal.ended, 0);
  const changes = calls.filter(({ method }) => !/^(GetTask|SubscribeToTask)$/.test(method));
  assert.deepEqual(
    changes.map(({ method }) => method),
    ['SendMessage'],
  );
  assert.match(JSON.stringify(changes[0]?.params), /"The blue one\."/);
});

test('a task that asks while the menu of Ctrl-C is open can be canceled there', async (t) => {
  const { watch, become, calls, left } = await agent(t);
  const terminal = watch();
  await terminal.waitFor(/working/);
  terminal.type(CTRL_C);
  await terminal.waitFor(MENU);
  const heard = left();
  become('INPUT_REQUIRED', 'Which room?');
  await heard;
  terminal.type(`${DOWN}${ENTER}`);
  await terminal.waitFor(/status {5}canceled/);
  assert.equal(await terminal.ended, 1);
  assert.ok(!calls.some(({ method }) => method === 'SendMessage'));
});

test('a cancel that comes after the end of the task prints its result', async (t) => {
  const { watch, endBeforeCancel } = await agent(t);
  const terminal = watch();
  await terminal.waitFor(/working/);
  terminal.type(CTRL_C);
  await terminal.waitFor(MENU);
  endBeforeCancel();
  terminal.type(`${DOWN}${ENTER}`);
  await terminal.waitFor(/status {5}completed/);
  assert.equal(await terminal.ended, 0);
});

test('an interrupt while the menu is open, or while a question is, opens no menu', async (t) => {
  const { watch, become } = await agent(t);
  const terminal = watch();
  const interrupt = async (): Promise<void> => {
    process.kill(Number(/pid (\d+)\./.exec(terminal.screen())?.[1]), 'SIGINT');
    await terminal.waitFor(/\[heard\]/);
  };
  await terminal.waitFor(/working/);
  await interrupt();
  await terminal.waitFor(MENU);
  await interrupt();
  terminal.type(`${DOWN}${DOWN}${ENTER}`);
  await terminal.waitFor(/working/);
  become('INPUT_REQUIRED', 'Which room?');
  await terminal.waitFor(/Which room\?/);
  await interrupt();
  terminal.type(`Blue${ENTER}`);
  await terminal.waitFor(/status {5}completed/);
  assert.equal(await terminal.ended, 0);
  // Once when the menu opens, and once when it is answered.
  assert.equal(terminal.screen().match(/The task is not done/g)?.length, 2, terminal.screen());
});
