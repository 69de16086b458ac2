import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { test } from 'node:test';
import { packageFolders } from '../support/packages.ts';

const ROOT = resolve(import.meta.dirname, '../..');

/** The only files that may open a listening socket, and why. Everything else that loads the code never listens. */
const LISTENERS: Readonly<Record<string, string>> = {
  'libs/agent/loop/src/network/allowed-network.ts':
    'a Unix socket in the state directory for each confined command: its only way to the hosts of tools.shell.network',
  'libs/agent/claude-code/src/metering-proxy.ts':
    'loopback, for one run of Claude Code: the only way to its model, and what it spends is metered there',
  'libs/cli/src/join/answer-challenge.ts':
    'fleet join, until the orchestrator has asked there for a proof: the gateway does not run yet',
  'libs/fleet/gateway/src/member/listen.ts':
    'the one listener of a profile, and of the trader, started by main.ts',
  'services/console/src/start.ts': 'the one listener of the console, which is no member: it takes no tasks',
};

const sources = globSync('{libs,services,deploy}/**/*.ts', { cwd: ROOT, exclude: ['**/node_modules/**'] })
  .filter((file) => !file.endsWith('.test.ts') && !file.includes('/testing'))
  .map((file) => ({ file, text: readFileSync(join(ROOT, file), 'utf8') }));

test('only the named files listen', () => {
  const listening = sources.filter(({ text }) => /\.listen\(/.test(text)).map(({ file }) => file);
  assert.deepEqual(listening.sort(), Object.keys(LISTENERS).sort());
});

test('one file reads the bodies of requests, and bounds their nesting', () => {
  const parsing = sources.filter(({ text }) => /ddContentTypeParser\(/.test(text)).map(({ file }) => file);
  assert.deepEqual(parsing, ['libs/core/service/src/http/json-body.ts']);
});

test('startProfile is called from the main of the profile service alone', () => {
  const calling = sources
    .filter(({ text }) => /(?<!function )\bstartProfile\(/.test(text))
    .map(({ file }) => file);
  assert.deepEqual(calling, ['services/profile/src/main.ts']);
});

test('importing a package has no side effect: nothing listens, no timer runs, nothing is printed', async () => {
  const { execFileSync } = await import('node:child_process');
  const packages = packageFolders(ROOT).flatMap((folder) => {
    const { exports = {} } = JSON.parse(readFileSync(join(ROOT, folder, 'package.json'), 'utf8'));
    const entries = Object.keys(exports).filter((name) => name !== './testing');
    assert.ok(entries.length > 0 || folder.startsWith('services/'), folder);
    return entries.map((name) => join(folder, exports[name]));
  });
  const script = `${packages.map((file) => `await import(${JSON.stringify(join(ROOT, file))});`).join('\n')}
    const left = process.getActiveResourcesInfo().filter((name) => !/^(Pipe|TTY|FSReq|Immediate|File)/.test(name));
    if (left.length > 0) { console.log(left.join()); }`;
  const out = execFileSync(process.execPath, ['--input-type=module', '--eval', script], {
    encoding: 'utf8',
    timeout: 60_000,
  });
  assert.equal(out, '');
});
