import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';
import { fleet } from '../../testing/profile-stub.ts';

test('bash completes groups, commands and options with the printed script', async () => {
  const { stdout: script, code } = await fleet(['completion', 'bash']);
  assert.equal(code, 0);
  const complete = (...words: string[]): string[] => {
    const line = ['fleet', ...words].map((word) => `'${word}'`).join(' ');
    const shell = `${script}\nCOMP_WORDS=(${line}); COMP_CWORD=${words.length}; _fleet; printf '%s\\n' "\${COMPREPLY[@]}"`;
    return execFileSync('bash', ['-c', shell], { encoding: 'utf8' }).trim().split('\n');
  };
  assert.deepEqual(complete('tas'), ['tasks', 'task']);
  assert.deepEqual(complete('trader', 'audit', ''), ['--help', 'verify', 'show', 'accept']);
  assert.deepEqual(complete('trader', 'audit', 's'), ['show']);
  assert.deepEqual(complete('send', 'a brief', '--tier-'), ['--tier-min', '--tier-max', '--tier-prefer']);
  assert.deepEqual(complete('route', '--expl'), ['--explain']);
  assert.deepEqual(complete('lo'), ['logs']);
  assert.deepEqual([complete('up'), complete('dow'), complete('ps')], [['up'], ['down'], ['ps']]);
  assert.deepEqual(complete('nothing', 'x'), ['']);
});

test('the script for zsh begins with its support for functions of bash; other shells are refused', async () => {
  assert.match((await fleet(['completion', 'zsh'])).stdout, /^autoload -U \+X compinit bashcompinit && /);
  for (const words of [[], ['fish'], ['bash', 'zsh']]) {
    const { code, stderr } = await fleet(['completion', ...words]);
    assert.deepEqual([code, stderr.split('\n')[0]], [2, 'fleet: completion takes bash or zsh']);
  }
});
