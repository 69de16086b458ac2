import assert from 'node:assert/strict';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { systemClock } from '@hermes-fleet/protocol/ports';
import { silentLog, tempDir } from '@hermes-fleet/protocol/testing';
import {
  COMMAND_ENV,
  COMMAND_UID,
  type CommandLimits,
  createConfinement,
  defaultProcesses,
  runCommand,
} from '@hermes-fleet/workspace';
import {
  cannotConfine,
  commandsFolder,
  makePlace,
  memoryFile,
  nodeForOthers,
  PERL,
} from '@hermes-fleet/workspace/testing';
import { AgentConfigSchema, commandLimits } from './config/config-yaml.ts';
import { shellExecTool } from './tools/shell-exec.ts';

const DEFAULTS = commandLimits(AgentConfigSchema.parse({}).tools.shell.limits);
const METHODS = ['bubblewrap', 'uid', 'unconfined'] as const;
const cannot = (confine: (typeof METHODS)[number]) =>
  confine === 'unconfined' ? false : cannotConfine(confine);

type Shown = Partial<Record<'exit_code' | 'killed' | 'limit' | 'stdout' | 'stderr', unknown>>;

/** Runs scripts by `shell_exec` under limits. */
async function shell(t: TestContext, confine: (typeof METHODS)[number], limits: Partial<CommandLimits> = {}) {
  const place = makePlace(t);
  const all = { ...DEFAULTS, ...limits };
  const confinement = await createConfinement({
    confine,
    ...place,
    limits: all,
    clock: systemClock,
    log: silentLog,
  });
  const dir = await commandsFolder(place, confinement);
  const reach = { writable: [dir], readOnly: [] };
  const tool = shellExecTool({
    profile: 'p',
    shell: '/bin/sh',
    env: {},
    timeoutS: 120,
    limits: all,
    clock: systemClock,
  });
  const wrap = (command: string, args: readonly string[]) => confinement.wrap(command, args, reach);
  const context = { workspace: { dir, wrap, env: { HOME: dir } }, signal: new AbortController().signal };
  const run = async (command: string): Promise<Shown & { ok: boolean }> => {
    const { ok, output } = await tool.run({ command }, context as unknown as Parameters<typeof tool.run>[1]);
    assert.ok(typeof output === 'object' && output !== null);
    return { ok, ...output };
  };
  return { confinement, run, dir };
}

for (const confine of METHODS) {
  test(`a command has the limits of the configuration (${confine})`, { skip: cannot(confine) }, async (t) => {
    const limits = { processes: 1234, dataMb: 3000, fileMb: 700, openFiles: 456, cpuS: 77, memoryMb: 0 };
    const { run, confinement, dir } = await shell(t, confine, limits);
    const script =
      'grep -E "Max (processes|data size|file size|open files|cpu time)" /proc/self/limits; cat /proc/self/oom_score_adj';
    const shown = await run(script);
    const text = String(shown.stdout);
    const mib = 1024 * 1024;
    for (const row of [
      `Max cpu time +77 +82 `,
      `Max file size +${700 * mib} +${700 * mib} `,
      `Max data size +${3000 * mib} +${3000 * mib} `,
      `Max open files +456 +456 `,
      '900\n$',
    ])
      assert.match(text, new RegExp(row));
    // Where the commands' user has other processes, a limit would count them.
    assert.equal(/Max processes +1234 +1234 /.test(text), confine !== 'unconfined');
    const { command, args } = confinement.launch('/bin/sh', ['-c', script]);
    const options = { cwd: dir, env: COMMAND_ENV, timeoutMs: 30_000, keepBytes: 4096, maxBytes: 1e6 };
    const server = (await runCommand({ command, args }, { ...options, clock: systemClock })).stdout;
    assert.match(server, /Max open files +456 +456 /);
    assert.doesNotMatch(server, /Max cpu time +77/, 'a server runs as long as the profile');
    assert.match(server, /900\n$/);
  });

  test(`a limit above what the gateway may set becomes the gateway's own (${confine})`, {
    skip: cannot(confine),
  }, async (t) => {
    const { run } = await shell(t, confine, { openFiles: 1_000_000 });
    const hard = /^Max open files +\S+ +(\S+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1];
    const shown = await run('grep "Max open files" /proc/self/limits');
    const most = hard === 'unlimited' ? 1_000_000 : Math.min(1_000_000, Number(hard));
    assert.match(String(shown.stdout), new RegExp(`Max open files +${most} +${most} `));
  });

  test(`a command that exceeds its memory is ended, with all its processes (${confine})`, {
    skip: cannot(confine),
  }, async (t) => {
    const { run } = await shell(t, confine, { memoryMb: 200 });
    const node = confine === 'uid' ? nodeForOthers(t) : process.execPath;
    const hog = `'${node}' -e 'const b = Buffer.alloc(90e6, 1); setInterval(() => b, 1e6)'`;
    const shown = await run(`for i in 1 2 3 4; do setsid ${hog} & done; wait`);
    assert.equal(shown.ok, false);
    assert.match(
      String(shown.killed),
      /^killed: its processes used \d+ MiB of memory, and the limit is 200 \(tools\.shell\.limits\.memory_mb\)$/,
    );
  });

  test(`memory that a command holds and does not map counts (${confine})`, {
    skip: cannot(confine),
  }, async (t) => {
    const { run } = await shell(t, confine, { memoryMb: 200 });
    const scripts = [`exec ${PERL} -e '${memoryFile(300)} sleep 60'`];
    if (confine === 'bubblewrap')
      scripts.push('head -c 150M /dev/zero > /tmp/a; head -c 150M /dev/zero > /dev/shm/b; sleep 60');
    for (const script of scripts)
      assert.match(String((await run(script)).killed), /^killed: .* the limit is 200 /, script);
  });

  test(`the result of a command names the limit that it met (${confine})`, {
    skip: cannot(confine),
  }, async (t) => {
    const small = { cpuS: 3, fileMb: 1, openFiles: 20, dataMb: 64 };
    const { run } = await shell(t, confine, small);
    for (const [script, limit] of [
      ['while :; do :; done', /^SIGXCPU: .* 3 s of CPU time, the limit tools\.shell\.limits\.cpu_s$/],
      ['head -c 2M /dev/zero > big', /^SIGXFSZ: .* 1 MiB, the limit tools\.shell\.limits\.file_mb$/],
      ['trap "" XFSZ; head -c 2M /dev/zero > big', /^EFBIG: .*file_mb$/],
      ['bash -c "for i in {1..40}; do exec {f}</dev/null; done"', /^EMFILE: .* 20 open files/],
      ['head -c 100M /dev/zero | tail -c 99M > /dev/null', /^ENOMEM: .* 64 MiB of data/],
    ] as const) {
      const shown = await run(script);
      assert.equal(shown.ok, false, script);
      assert.match(String(shown.limit), limit, `${script}: ${JSON.stringify(shown)}`);
    }
    const plain = await run('echo "cat: nothing here" >&2; exit 3');
    assert.deepEqual([plain.exit_code, plain.limit], [3, undefined], 'a plain failure names no limit');
    assert.equal((await run('echo "Too many open files" >&2')).limit, undefined, 'a success names none');
  });
}

/** Processes and threads of a user. */
const threadsOf = (uid: number): number =>
  readdirSync('/proc')
    .filter((entry) => /^\d+$/.test(entry))
    .map((pid) => {
      try {
        const status = readFileSync(`/proc/${pid}/status`, 'utf8');
        const isTheirs = new RegExp(`^Uid:\\s+${uid}\\s`, 'm').test(status);
        return isTheirs ? Number(/^Threads:\s+(\d+)/m.exec(status)?.[1]) : 0;
      } catch {
        return 0;
      }
    })
    .reduce((sum, threads) => sum + threads, 0);

for (const confine of ['bubblewrap', 'uid'] as const) {
  test(`a method is found although others use up all processes (${confine})`, {
    skip: cannotConfine(confine),
  }, async (t) => {
    const { run } = await shell(t, confine, { processes: 1 });
    assert.equal((await run('sleep 0 & wait')).ok, false, 'the limit holds for commands');
  });

  test(`a command that forks without end meets its limit, and the next one has all processes again (${confine})`, {
    skip: cannotConfine(confine),
    timeout: 60_000,
  }, async (t) => {
    // Other tests run commands of the same user.
    const processes = threadsOf(COMMAND_UID) + 300;
    const { run } = await shell(t, confine, { processes });
    const bomb = 'i=0; while [ $i -lt 2000 ]; do sleep 20 & i=$((i+1)); done; echo all started';
    const shown = await run(bomb);
    assert.equal(shown.ok, false);
    assert.match(
      String(shown.limit),
      new RegExp(`EAGAIN.* ${processes} together \\(tools\\.shell\\.limits\\.processes\\)`),
    );
    // A killed process counts until its parent, which may be the machine's first process, has noticed.
    while (!(await run('sleep 0 & sleep 0 & wait')).ok) await systemClock.sleep(50);
  });
}

test('memory file systems of a command are bounded, and a root of its own is read-only', {
  skip: cannotConfine('bubblewrap'),
}, async (t) => {
  const { run } = await shell(t, 'bubblewrap');
  for (const place of ['/tmp', '/dev/shm']) {
    const shown = await run(`head -c 300M /dev/zero > ${place}/fill`);
    assert.match(String(shown.stderr), /No space left on device/, place);
    assert.equal((await run(`test -e ${place}/fill`)).ok, false, `${place} is empty for the next command`);
  }
  for (const place of ['/', '/dev']) {
    const shown = await run(`echo x > ${place}/fill`);
    assert.match(String(shown.stderr), /Read-only file system|Permission denied/, place);
  }
  assert.equal((await run('echo x > /dev/null && head -c 1 /dev/urandom > /dev/null')).ok, true);
});

test('a machine without prlimit is named in the note of the confinement', async (t) => {
  const programs = { bwrap: 'bwrap', setpriv: 'setpriv', prlimit: undefined };
  const parts = { ...makePlace(t), limits: DEFAULTS, clock: systemClock, log: silentLog };
  const absent = { ...programs, prlimit: '/nonexistent/prlimit' };
  const { note } = await createConfinement({ confine: 'unconfined', ...parts, programs: absent });
  assert.match(note, /only memory_mb applies: there is no prlimit \(install util-linux\)/);
  const found = await createConfinement({ confine: 'unconfined', ...parts, programs });
  assert.doesNotMatch(found.note, /prlimit/);
});

test('the processes by default are half of what the container may have, and at most 2048', (t) => {
  const dir = tempDir(t);
  const of = (name: string, text: string): number => {
    writeFileSync(join(dir, name), text);
    return defaultProcesses([join(dir, 'absent'), join(dir, name)]);
  };
  assert.equal(of('some', '1024\n'), 512);
  assert.equal(of('many', '60000\n'), 2048);
  assert.equal(of('unlimited', 'max\n'), 2048);
  assert.equal(defaultProcesses([join(dir, 'absent')]), 2048);
  assert.equal(DEFAULTS.processes, defaultProcesses());
});

test('the memory by default is half of what the machine or the container has', () => {
  const kib = Number(/MemTotal: +(\d+)/.exec(readFileSync('/proc/meminfo', 'utf8'))?.[1]);
  const bytes = Math.min(kib * 1024, process.constrainedMemory() || Number.POSITIVE_INFINITY);
  assert.equal(DEFAULTS.memoryMb, Math.floor(bytes / 2 / 2 ** 20));
});
