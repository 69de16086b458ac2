import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { test } from 'node:test';
import { cannotConfine, nodeForOthers } from '@hermes-fleet/workspace/testing';
import { block, makeAgent, makeContext, makeTask } from '../testing/harness.ts';

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

const PIP = [
  'mkdir -p wheel/pkg && cd wheel && echo "print(\\"pkg runs\\")" > pkg/__main__.py && touch pkg/__init__.py',
  'printf "from setuptools import setup\\nsetup(name=\\"pkg\\", version=\\"1\\", packages=[\\"pkg\\"])\\n" > setup.py',
  '/usr/bin/python3 -m pip install --quiet --no-index --no-build-isolation --no-deps --target ../installed . 2>&1',
  'PYTHONPATH=../installed /usr/bin/python3 -m pkg | grep "pkg runs"',
].join(' && ');

const CARGO = [
  'mkdir -p crate/dep/src crate/src && cd crate',
  'printf "[package]\\nname = \\"dep\\"\\nversion = \\"1.0.0\\"\\n" > dep/Cargo.toml && echo "pub fn f() -> u8 { 7 }" > dep/src/lib.rs',
  'printf "[package]\\nname = \\"app\\"\\nversion = \\"1.0.0\\"\\n[dependencies]\\ndep = { path = \\"dep\\" }\\n" > Cargo.toml',
  'echo "fn main() { println!(\\"{}\\", dep::f()) }" > src/main.rs && /usr/bin/cargo run --offline --quiet | grep 7',
].join(' && ');

/** Programs that ask more of the kernel than most: what they do, by the program. */
const OPTIONAL: Readonly<Record<string, string>> = {
  '/usr/bin/make':
    'printf "all: a b\\na b:\\n\\ttouch \\$@\\n" > Makefile && make -j2 && test -e a && test -e b',
  '/usr/bin/python3': `/usr/bin/python3 -c "import multiprocessing as m; p = m.Pool(2); print(p.map(abs, [-1])); p.close(); p.join()"`,
  '/usr/bin/pip3': PIP,
  '/usr/bin/cargo': CARGO,
  '/usr/bin/gdb': 'gdb -batch -ex run -ex "info proc" --args /bin/echo debugged | grep debugged',
  '/usr/bin/strace': 'strace -f -o trace /bin/sh -c "true; true" && grep -q exit_group trace',
  '/usr/bin/chromium':
    'chromium --headless --no-sandbox --disable-gpu --virtual-time-budget=1000 --dump-dom "data:text/html,<p id=x></p><script>x.textContent=6*7</script>" 2>/dev/null | grep -q ">42<"',
};

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
      ...Object.fromEntries(Object.entries(OPTIONAL).filter(([program]) => existsSync(program))),
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
