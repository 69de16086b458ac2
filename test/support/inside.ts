import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:net';
import type { TestContext } from 'node:test';
import { KERNEL_ATTACKS, memoryFile } from '@hermes-fleet/workspace/testing';
import { shell } from './agent-work.ts';
import { until } from './fleet.ts';
import { call, dispatch, message, resultOf, runbook, type Target } from './rpc.ts';

/** More than a command may have in the profiles that are attacked. */
const HIDDEN_MB = 900;

/** How the commands of a profile are confined. */
export type Mode = 'bubblewrap' | 'bubblewrap with named hosts' | 'container';

/** What the program needs to know of its surroundings. All of it is what an attacker could guess or find out. */
interface Surroundings {
  /** The process of the gateway, as commands would see it. */
  readonly gateway: number;
  /** A port of the profile on loopback, which asks for a token. */
  readonly port: number;
  /** The name of an abstract socket that a process of the machine listens on. */
  readonly abstractSocket: string;
  /** A name that is in the command line of a neighbour, and in the names of its files in shared folders. */
  readonly neighbour: string;
}

interface Attack {
  readonly what: string;
  /** Succeeds when the attack does. */
  readonly script: string;
  /** Where it is known to succeed: SECURITY.md#limits says so. */
  readonly rest?: readonly Mode[];
}

const connect = (name: string): string =>
  `perl -MSocket -e 'socket(S, AF_UNIX, SOCK_STREAM, 0); exit !connect(S, pack_sockaddr_un("\\0${name}"))'`;

/**
 * What a task tries from within, in every mode. To try the next idea, add a row. Rows use the shell, Perl and the
 * tools of a small Debian.
 */
const attacks = (of: Surroundings): readonly Attack[] => [
  {
    what: 'inherit a descriptor',
    script: 'n=3; while [ $n -le 300 ]; do [ -e /proc/$$/fd/$n ] && exit 0; n=$((n + 1)); done; exit 1',
  },
  { what: 'read by a descriptor of the starter', script: 'bash -c "cat <&63"' },
  { what: 'write by a descriptor of the starter', script: 'bash -c "echo written >&200"' },
  { what: 'list the keys of the starter', script: 'grep -q hermes-secret /proc/keys' },
  ...KERNEL_ATTACKS,
  { what: 'run without the filter', script: '! grep -q "^Seccomp:[[:space:]]2" /proc/self/status' },
  {
    what: 'lower the score by which the kernel ends it',
    script: 'echo 0 > /proc/self/oom_score_adj || echo 0 > /proc/$$/task/$$/oom_score_adj',
  },
  { what: 'lower it by its old name', script: 'echo 0 > /proc/self/oom_adj' },
  { what: 'read the environment of the gateway', script: `cat /proc/${of.gateway}/environ` },
  { what: 'read the files of the gateway', script: `cat /proc/${of.gateway}/fd/*` },
  {
    what: 'debug the gateway',
    script: `perl -e 'exit(syscall(${process.arch === 'x64' ? 101 : 117}, 0x4206, ${of.gateway}, 0, 0) < 0)'`,
  },
  { what: 'signal the gateway', script: `kill -0 ${of.gateway}` },
  {
    what: 'see the command lines of others',
    script: `cat /proc/[0-9]*/cmdline | tr "\\0" " " | grep -q "${of.neighbour.slice(0, -1)}[${of.neighbour.slice(-1)}]"`,
    rest: ['container'],
  },
  {
    what: 'read the files of others in shared folders',
    script: `cat /tmp/${of.neighbour} /dev/shm/${of.neighbour}`,
  },
  {
    what: 'connect to an abstract socket of the machine',
    script: connect(of.abstractSocket),
    rest: ['bubblewrap'],
  },
  {
    what: 'use the profile without a token',
    script: `perl -MIO::Socket::INET -e '$s = IO::Socket::INET->new(PeerAddr => "127.0.0.1:${of.port}") or exit 1;
      print $s "GET /fleet/peers HTTP/1.1\\r\\nHost: 127.0.0.1:${of.port}\\r\\nConnection: close\\r\\n\\r\\n"; exit !(<$s> =~ / 200 /)'`,
  },
  {
    what: 'start ten thousand processes',
    script: 'n=0; while [ $n -lt 10000 ]; do sleep 3 & n=$((n + 1)); done 2>/dev/null',
  },
  {
    what: 'fill the folder of temporary files',
    script: 'head -c 1G /dev/zero > /tmp/filled; r=$?; rm -f /tmp/filled; exit $r',
  },
  {
    what: 'make files without number',
    script: 'cd /tmp && seq 150000 | xargs touch; r=$?; seq 150000 | xargs rm -f; exit $r',
    // Each command has a /tmp of its own there, whose files count for its memory.
    rest: ['bubblewrap', 'bubblewrap with named hosts'],
  },
  {
    what: 'fill the shared memory',
    script: 'head -c 1G /dev/zero > /dev/shm/filled; r=$?; rm -f /dev/shm/filled; exit $r',
  },
  { what: 'write to the root', script: 'echo x > /written || mkdir /usr/written' },
];

/** What a task leaves behind on purpose, and a later one of another context looks for. */
const LEAVE_BEHIND = `
  (setsid sh -c 'exec -a hermes-left sleep 300' >/dev/null 2>&1 &)
  (setsid bash -c 'trap "" TERM HUP; exec -a hermes-left sleep 300' >/dev/null 2>&1 &)
  for d in /tmp /dev/shm /var/tmp; do echo left > $d/hermes-left; done 2>/dev/null
  ipcmk -M 4096 >/dev/null 2>&1; ipcmk -Q >/dev/null 2>&1; ipcmk -S 1 >/dev/null 2>&1
  touch /dev/mqueue/hermes-left 2>/dev/null
  ln -s /etc/passwd link; ln -s ../../../../../../../../../etc/passwd link-up; ln -s . link-around; mkfifo pipe; true`;

const LEFT: readonly Attack[] = [
  {
    what: 'find a process that was left',
    script: 'cat /proc/[0-9]*/cmdline | tr "\\0" " " | grep -q "hermes-lef[t]"',
  },
  {
    what: 'find files that were left',
    script: 'ls /tmp/hermes-left || ls /dev/shm/hermes-left || ls /var/tmp/hermes-left',
  },
  { what: 'find shared memory that was left', script: '[ "$(tail -n +2 /proc/sysvipc/shm | wc -l)" -gt 0 ]' },
  {
    what: 'find message queues that were left',
    script: '[ "$(tail -n +2 /proc/sysvipc/msg | wc -l)" -gt 0 ]',
  },
  { what: 'find semaphores that were left', script: '[ "$(tail -n +2 /proc/sysvipc/sem | wc -l)" -gt 0 ]' },
  { what: 'find a queue of messages by its name', script: 'ls /dev/mqueue | grep -q hermes-left' },
];

const quoted = (script: string): string => `'${script.replaceAll("'", "'\\''")}'`;

/** A program that runs each attack in a shell of its own, for at most 20 s, and prints a mark for each: `x` where it succeeded. */
const program = (rows: readonly Attack[]): string =>
  `printf "marks: "\n${rows
    .map(
      ({ what, script }) =>
        `# ${what}\nif timeout 20 sh -c ${quoted(script)} </dev/null >/dev/null 2>&1; then printf x; else printf .; fi`,
    )
    .join('\n')}\necho " end"`;

/** The attacks that succeeded by this output, and that no rest allows. Throws unless all have run. */
function breaches(output: string, rows: readonly Attack[], mode: Mode): string[] {
  const marks = /marks: ([.x]+) end/.exec(output)?.[1] ?? '';
  assert.equal(marks.length, rows.length, output);
  return rows
    .filter(({ rest = [] }, at) => marks[at] === 'x' && !rest.includes(mode))
    .map(({ what }) => what);
}

/**
 * Runs the attacks as a task of the profile, beside a task of a neighbour; then has the task leave what it can behind, and a task of
 * another context look for it. Throws with each attack that succeeded. `gateway` is a process of the gateway, as commands
 * number it.
 */
export async function attackFromWithin(
  t: TestContext,
  target: Target,
  {
    mode,
    gateway,
    askingForTokens = target.url,
  }: { readonly mode: Mode; readonly gateway: number; readonly askingForTokens?: string },
): Promise<void> {
  const name = `hermes-inside-${process.pid}`;
  const listener = createServer((socket) => socket.end()).listen(`\0${name}`);
  await once(listener, 'listening');
  t.after(() => listener.close());
  const params = (brief: string, contextId: string, returnImmediately = false) =>
    message(dispatch({ brief, task: { token_budget: 1_000_000 } }), { contextId, returnImmediately });
  const send = async (contextId: string, brief: string) => {
    const { body } = await call(target, 'SendMessage', params(brief, contextId));
    return resultOf(body.result?.task) ?? assert.fail(JSON.stringify(body));
  };
  const run = async (contextId: string, brief: string): Promise<string> => {
    const result = await send(contextId, brief);
    assert.equal(result.status, 'done', JSON.stringify(result));
    return result.text;
  };
  const waits = `for d in /tmp /dev/shm; do (umask 077; echo secret > $d/${name}); done; touch begun; bash -c 'exec -a ${name} sleep 110'`;
  const { body } = await call(target, 'SendMessage', params(shell(waits), 'inside-neighbour', true));
  const { id } = body.result.task;
  const state = async (): Promise<string> => (await call(target, 'GetTask', { id })).body.result.status.state;
  await until(async () => (await state()) === 'TASK_STATE_WORKING', 'the neighbour to work');

  const rows = attacks({
    gateway,
    port: Number(new URL(askingForTokens).port),
    abstractSocket: name,
    neighbour: name,
  });
  const said = await run('inside-attacker', runbook('attacks.sh', program(rows), 'sh ./attacks.sh'));
  assert.deepEqual(breaches(said, rows, mode), [], said);
  const hidden = await send('inside-attacker', shell(`perl -e '${memoryFile(HIDDEN_MB)} sleep 20'`));
  assert.equal(hidden.status, 'error', JSON.stringify(hidden));
  assert.match(JSON.stringify(hidden), /memory/);
  assert.equal(await state(), 'TASK_STATE_WORKING', 'the neighbour goes on');
  assert.equal((await fetch(`${target.url}/ready`)).status, 200);

  await run('inside-attacker', runbook('leave.sh', LEAVE_BEHIND, 'bash ./leave.sh'));
  // What was saved, and is taken out for the next task of the context, is the links themselves.
  const links =
    'for l in link link-up link-around; do git cat-file -p HEAD:$l; echo; done; git ls-tree HEAD | wc -l';
  assert.match(
    await run('inside-attacker', runbook('next.txt', 'next', links)),
    /\n\s+\/etc\/passwd\n\s+(\.\.\/){9}etc\/passwd\n\s+\.\n\s+5\n/,
  );
  const found = await run('inside-newcomer', runbook('attacks.sh', program(LEFT), 'sh ./attacks.sh'));
  assert.deepEqual(breaches(found, LEFT, mode), [], found);
  await call(target, 'CancelTask', { id });
}
