import assert from 'node:assert/strict';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { freePort } from '@hermes-fleet/gateway/testing';
import { deadline, tempDir } from '@hermes-fleet/protocol/testing';
import { LOGIN_SECRET, startBus } from '../testing/console.ts';
import { runConsole } from '../testing/process.ts';

test(
  'the shipped configuration serves the page, in less than 120 MB, and stops with exit code 0',
  deadline,
  async (t) => {
    const nats = await startBus(t);
    let last: ChildProcess | undefined;
    const dir = tempDir(t, { closeFirst: () => last?.kill('SIGKILL') });
    const port = await freePort();
    const env = {
      ...{ HERMES_STATE_DIR: dir, CONSOLE_LOGIN: LOGIN_SECRET, CONSOLE_PORT: String(port) },
      ...{ NATS_HOST: '127.0.0.1', NATS_PORT: new URL(nats.url).port },
      // As the image and `fleet up` set them: a first start compiles, which needs memory once.
      ...{ NODE_OPTIONS: '--max-semi-space-size=1', NODE_COMPILE_CACHE: join(dir, 'cache') },
    };
    for (const start of ['first', 'second']) {
      const { child, saw, output } = runConsole(env);
      last = child;
      await saw('connected to the event bus');
      const page = await fetch(`http://127.0.0.1:${port}/`);
      assert.match(page.headers.get('content-security-policy') ?? '', /script-src 'self'/);
      const files = [...(await page.text()).matchAll(/(?:src|href)="(\/[^"]+)"/g)].map(([, path]) => path);
      assert.ok(files.length > 0);
      for (const path of files)
        assert.equal((await fetch(`http://127.0.0.1:${port}${path}`)).status, 200, path);
      const status = readFileSync(`/proc/${child.pid}/status`, 'utf8');
      const kb = Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]);
      if (start === 'second') assert.ok(kb < 120_000, `${kb} kB`);
      child.kill('SIGTERM');
      const [code] = await once(child, 'exit');
      assert.equal(code, 0, output());
    }
  },
);

test('a start that cannot work says what to correct, and ends with 1', deadline, async (t) => {
  const base = { HERMES_STATE_DIR: tempDir(t), CONSOLE_LOGIN: LOGIN_SECRET };
  const cases: [Record<string, string>, RegExp][] = [
    [
      { ...base, CONSOLE_LOGIN: 'short' },
      /CONSOLE_LOGIN is missing or has fewer than 16 characters.*fleet keys init/,
    ],
    [{ ...base, CONSOLE_PORT: 'x' }, /CONSOLE_PORT is "x": it must be a port number/],
    [{ ...base, HERMES_HOME: '/nowhere' }, /console\.yaml does not exist/],
  ];
  for (const [env, message] of cases) {
    const { child, output } = runConsole(env);
    const [code] = await once(child, 'close');
    assert.equal(code, 1);
    assert.match(output(), message);
  }
});
