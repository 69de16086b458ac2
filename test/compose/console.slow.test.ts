import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startComposeFleet } from '../support/compose.ts';
import { openLink } from '../support/console.ts';
import { withoutEngine } from '../support/engine.ts';
import { until } from '../support/fleet.ts';
import { call, runbook, textMessage } from '../support/rpc.ts';

test('the console in its container', { skip: withoutEngine(), timeout: 540_000 }, async (t) => {
  const fleet = await startComposeFleet(t);
  const command = (...args: string[]) =>
    fleet.compose('exec', '-T', 'console', 'fleet', 'console', '--as-is', ...args);
  const address = await fleet.url('console');
  const link = (await command('--address', address)).trim();

  await t.test('is healthy, and its link opens it once', async () => {
    assert.ok(link.startsWith(`${address}/login?code=`), link);
    const { status, browser } = await openLink(link);
    assert.equal(status, 303);
    assert.ok(browser);
    assert.deepEqual(await openLink(link), { status: 403, browser: undefined });
    const { body } = await call(
      await fleet.target('switch'),
      'SendMessage',
      textMessage(runbook('n.txt', 'plain', 'cat n.txt')),
    );
    const id = body.result?.task.id;
    const isShown = async (): Promise<boolean> => {
      const { tasks } = await browser.json('/api/tasks');
      return Array.isArray(tasks) && tasks.some((task) => task.id === id && task.state === 'done');
    };
    await until(isShown, 'the task in the console');
  });

  await t.test('has its own keys and no others, and writes only its state', async () => {
    const keys = await fleet.inside(
      'console',
      'ls /run/keys; find / -xdev -name "A2A_HERMES_TOKEN*" 2>/dev/null; true',
    );
    assert.deepEqual(keys.trim().split('\n'), ['CONSOLE_LOGIN', 'NATS_PASSWORD', 'NATS_USER']);
    assert.equal(
      (await fleet.inside('console', 'touch /app/x 2>/dev/null || echo refused')).trim(),
      'refused',
    );
    assert.match(await fleet.inside('console', 'ls /state'), /^console\.db$/m);
    assert.match(await fleet.inside('console', 'env | grep -c -E "API_KEY|TOKEN|PASSWORD" || true'), /^0\n$/);
  });

  await t.test('is scraped, and stays far below its memory limit', async () => {
    const metrics = await (await fetch(`${address}/metrics`)).text();
    const resident = Number(/^process_resident_memory_bytes(?:\{.*\})? (\S+)$/m.exec(metrics)?.[1]);
    assert.ok(resident > 0 && resident < 200 * 1024 * 1024, String(resident));
    t.diagnostic(`resident memory: ${Math.round(resident / 1024 / 1024)} MiB`);
  });

  await t.test('the fleet works while it is away, and it shows afterwards what it missed', async () => {
    await fleet.kill('console');
    const { body } = await call(
      await fleet.target('switch'),
      'SendMessage',
      textMessage(runbook('m.txt', 'plain', 'cat m.txt')),
    );
    const id = body.result?.task.id;
    assert.equal(body.result?.task.status.state, 'TASK_STATE_COMPLETED');
    await fleet.up();
    const again = (await command('--address', await fleet.url('console'))).trim();
    const { browser } = await openLink(again);
    assert.ok(browser);
    const isShown = async (): Promise<boolean> => {
      const { tasks } = await browser.json('/api/tasks');
      return Array.isArray(tasks) && tasks.some((task) => task.id === id);
    };
    await until(isShown, 'the missed task');
  });
});
