import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join, normalize } from 'node:path';
import { type TestContext, test } from 'node:test';
import { deadline, tempDir } from '@hermes-fleet/protocol/testing';
import { cannotConfine } from '@hermes-fleet/workspace/testing';
import { block, makeAgent, makeContext, makeTask } from '../testing/harness.ts';

const hasPip = existsSync('/usr/bin/pip3');

/** A registry of npm and of pip with a package each, and a repository of git, at an address of this machine. */
async function registries(t: TestContext): Promise<{ host: string; seen: string[] }> {
  const dir = tempDir(t);
  const run = (command: string, ...args: string[]) =>
    execFileSync(command, args, { cwd: dir, stdio: ['ignore', 'ignore', 'inherit'] });
  for (const folder of ['npm/package', 'pip/tiny', 'work']) mkdirSync(join(dir, folder), { recursive: true });
  const manifest = { name: 'tiny', version: '1.0.0' };
  writeFileSync(join(dir, 'npm/package/package.json'), JSON.stringify(manifest));
  run('tar', '-czf', 'npm/tiny.tgz', '-C', 'npm', 'package');
  run('git', 'init', '-q', '-b', 'main', 'work');
  const author = ['-c', 'user.name=a', '-c', 'user.email=a@example'];
  run('git', '-C', 'work', ...author, 'commit', '-q', '--allow-empty', '-m', 'first');
  run('git', 'clone', '-q', '--bare', 'work', 'work.git');
  run('git', '-C', 'work.git', 'update-server-info');
  const seen: string[] = [];
  const server = createServer((request, response) => {
    const url = request.url ?? '';
    seen.push(url);
    const file = join(dir, normalize(new URL(url, 'http://x').pathname));
    if (url === '/npm/tiny') {
      const dist = { tarball: `http://${host}/npm/tiny.tgz` };
      const versions = { '1.0.0': { ...manifest, dist } };
      response.end(JSON.stringify({ name: 'tiny', 'dist-tags': { latest: '1.0.0' }, versions }));
    } else if (url === '/pip/tiny/') {
      response.setHeader('content-type', 'text/html');
      response.end('<a href="/tiny-1.0-py3-none-any.whl">tiny-1.0-py3-none-any.whl</a>');
    } else if (existsSync(file)) response.end(readFileSync(file));
    else response.writeHead(404).end();
  }).listen(0, '127.0.0.2');
  await once(server, 'listening');
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  assert.ok(typeof address === 'object' && address !== null);
  const host = `127.0.0.2:${address.port}`;
  if (hasPip) {
    const info = join(dir, 'pip/tiny-1.0.dist-info');
    mkdirSync(info);
    writeFileSync(join(info, 'METADATA'), 'Metadata-Version: 2.1\nName: tiny\nVersion: 1.0\n');
    writeFileSync(join(info, 'WHEEL'), 'Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n');
    writeFileSync(join(info, 'RECORD'), '');
    writeFileSync(join(dir, 'pip/tiny/__init__.py'), '');
    run(
      '/usr/bin/python3',
      '-m',
      'zipfile',
      '-c',
      'tiny-1.0-py3-none-any.whl',
      'pip/tiny',
      'pip/tiny-1.0.dist-info',
    );
  }
  return { host, seen };
}

test('a set-up, npm, pip and git use the registries that are named, and the next task learns what was refused', {
  skip: cannotConfine('bubblewrap'),
  ...deadline,
}, async (t) => {
  const { host, seen } = await registries(t);
  const network = { allow_internal: [host] };
  const npm = `npm install --no-audit --no-fund --registry http://${host}/npm/ tiny`;
  const agent = await makeAgent(t, { tools: { shell: { network } }, workspace: { setup: [npm] } });
  const pip = `/usr/bin/python3 -m pip install -q --disable-pip-version-check --target lib --index-url http://${host}/pip/ tiny`;
  const script = `cat node_modules/tiny/package.json
    git clone -q http://${host}/work.git cloned && git -C cloned log --format=%s
    ${hasPip ? `${pip} --trusted-host 127.0.0.2 && ls lib` : 'echo tiny-1.0.dist-info'}`;
  const context = makeContext();
  const result = await agent.executor.run(makeTask(block('sh', script)), context);
  assert.equal(result.status, 'done', JSON.stringify(result));
  const printed = JSON.stringify(context.checkpoints);
  for (const text of [/1\.0\.0/, /first\\n/, /tiny-1\.0\.dist-info/]) assert.match(printed, text);
  assert.ok(
    seen.includes('/npm/tiny.tgz') && seen.includes('/work.git/info/refs?service=git-upload-pack'),
    seen.join(),
  );
  const { stateDir } = agent.place;
  assert.ok(existsSync(join(stateDir, 'network/relay.cjs')));
  await agent.close();
  assert.equal(existsSync(join(stateDir, 'network')), false);

  const refusing = await makeAgent(t, {
    tools: { shell: { network } },
    workspace: { setup: ['curl -sSf https://evil.example'] },
  });
  const second = makeContext();
  const { nextSteps } = await refusing.executor.run(makeTask(block('sh', 'touch changed')), second);
  assert.match(
    JSON.stringify(nextSteps),
    /the network refused evil\.example:443: it is not in tools\.shell\.network\.allow/,
  );
});
