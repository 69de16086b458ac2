import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { cannotConfine, nodeForOthers } from '@hermes-fleet/workspace/testing';
import { block, makeAgent, makeContext, makeTask } from './testing/harness.ts';

/** Serves a page to itself over HTTP by `fetch`, whose WebAssembly parser reserves address space. */
const FETCH = `const s = require('http').createServer((q, r) => r.end('page')).listen(0, '127.0.0.1', async () => {
  console.log(await (await fetch('http://127.0.0.1:' + s.address().port)).text()); s.close(); });`;

/** A package with a dependency of its own, so that an installation needs no registry. */
const INSTALL = [
  'mkdir -p app/dep && cd app',
  `echo '{"name":"dep","version":"1.0.0","bin":{"dep":"i.js"},"scripts":{"install":"echo built > built.txt"}}' > dep/package.json`,
  `printf '#!/usr/bin/env node\\nconsole.log("dep runs")\\n' > dep/i.js`,
  `echo '{"name":"app","version":"1.0.0","dependencies":{"dep":"file:./dep"}}' > package.json`,
  'npm install --silent --no-audit --no-fund --offline && rm -rf node_modules',
  'npm ci --silent --no-audit --no-fund --offline && node_modules/.bin/dep',
].join(' && ');

const hasNpm = spawnSync('npm', ['--version']).status === 0;
const hasSanitizer =
  spawnSync('sh', ['-c', 'echo "int main(){}" | gcc -fsanitize=address -x c - -o /dev/null']).status === 0;

for (const confine of ['bubblewrap', 'uid'] as const) {
  test(`ordinary work meets no limit of the defaults (${confine})`, {
    skip: cannotConfine(confine),
    timeout: 300_000,
  }, async (t) => {
    const tools = { shell: { confine, timeout_s: 280 } };
    const agent = await makeAgent(t, { tools, hooks: { compactSuccessOutput: false } });
    const node = confine === 'uid' ? nodeForOthers(t) : process.execPath;
    const work: Record<string, string> = {
      'a server and a client of Node': `'${node}' -e "${FETCH}"`,
      '64 processes at once':
        'for i in $(seq 64); do (sleep 1; head -c 500K /dev/zero | sort -z > /dev/null) & done; wait',
      'many threads': `'${node}' -e "const { Worker } = require('worker_threads'); for (let i = 0; i < 24; i++) new Worker('1', { eval: true })"`,
      'a large file': 'head -c 1G /dev/zero > large && test $(stat -c %s large) = 1073741824 && rm large',
      'many open files': 'bash -c "for i in {1..2000}; do exec {f}</dev/null; done"',
      'files in memory':
        'head -c 50M /dev/zero > /dev/shm/x && head -c 50M /dev/zero > /tmp/x-$$ && rm /dev/shm/x /tmp/x-$$',
      'a repository with many files':
        'mkdir many && cd many && git init -q . && seq 1000 | split -l 1 - f && git add -A && git commit -qm x && git gc -q && cd .. && rm -rf many',
      ...(hasNpm && { 'an installation': INSTALL }),
      ...(hasSanitizer && {
        'a program with a sanitizer':
          'echo "int main(){return 0;}" > s.c && gcc -fsanitize=address s.c -o s && ./s',
      }),
    };
    for (const [what, script] of Object.entries(work)) {
      const context = makeContext();
      const result = await agent.executor.run(
        makeTask(block('sh', `(${script}) && echo it all worked`)),
        context,
      );
      const seen = JSON.stringify(context.checkpoints.at(-1));
      assert.match(seen, /"stdout":"[^"]*it all worked/, `${what}: ${JSON.stringify(result.text)}`);
      assert.doesNotMatch(seen, /tools\.shell\.limits|workspace\.max_mb/, what);
    }
  });
}
