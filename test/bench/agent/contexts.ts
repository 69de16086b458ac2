import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Ledger } from '@hermes-fleet/ledger';
import { type Agent, AgentConfigSchema, createAgent, loopExecutor } from '@hermes-fleet/loop';
import { type AdmittedTask, systemClock, systemIds } from '@hermes-fleet/protocol/ports';
import { silentLog } from '@hermes-fleet/protocol/testing';
import { ledgerRun, openTestLedger, startTask } from '../../support/ledger-run.ts';
import { median } from '../frame/quantile.ts';
import type { Table } from '../frame/section.ts';
import { format } from '../frame/table.ts';
import { newTask } from './agent-run.ts';

/** Tasks of each kind with the small base, and every third time with the large one. */
const ROUNDS = 15;
const LARGE_EVERY = 3;
const FILES = 10_000;

const BRIEF = '```sh\necho hi\n```';

interface Bench {
  readonly agent: Agent;
  readonly ledger: Ledger;
}

/**
 * Measures what contexts cost, with a base of no files and one of 10,000. Kinds alternate, so that the load of the machine
 * is shared. Targets: `echo hi` below 60 ms; a context of 10,000 files costs no more than a worktree of them.
 */
export async function benchContexts(): Promise<Table[]> {
  await using made = new AsyncDisposableStack();
  const dir = mkdtempSync(join(tmpdir(), 'hermes-bench-contexts-'));
  const remove = (): void => rmSync(dir, { recursive: true, force: true });
  made.defer(remove);
  // The bench exits at once when a signal ends it early.
  process.once('exit', remove);
  // Commands may run as another user, who needs to traverse the directory.
  chmodSync(dir, 0o755);
  const repository = makeRepository(join(dir, 'repository'));
  const small = await openBench(join(dir, 'small'), undefined, made);
  const large = await openBench(join(dir, 'large'), repository, made);
  for (const bench of [small, large]) await runTask(bench, newTask(BRIEF));
  const times: Record<'first' | 'next' | 'program' | 'large' | 'worktree', number[]> = {
    first: [],
    next: [],
    program: [],
    large: [],
    worktree: [],
  };
  const measure = async (kind: keyof typeof times, work: () => unknown): Promise<void> => {
    const since = performance.now();
    await work();
    times[kind].push(performance.now() - since);
  };
  for (let round = 0; round < ROUNDS; round += 1) {
    const first = newTask(BRIEF);
    await measure('first', () => runTask(small, first));
    await measure('next', () => runTask(small, { ...newTask(BRIEF), contextId: first.contextId }));
    await measure('program', () => execFileSync('true'));
    if (round % LARGE_EVERY !== 0) continue;
    const tree = join(dir, `tree-${round}`);
    await measure('worktree', () => {
      git(repository, 'worktree', 'add', '-q', '--detach', tree);
      git(tree, 'add', '--all');
    });
    await measure('large', () => runTask(large, newTask(BRIEF)));
  }
  const [one, first, worktree] = [times.program, times.first, times.worktree].map(median);
  const row = (name: string, ms: number, unit = Number.NaN): string[] => [
    name,
    format(ms),
    format(ms / unit),
  ];
  return [
    {
      title: 'Contexts: a task that runs `echo hi`, in ms; target: below 60',
      head: ['', 'median', 'ratio to a program'],
      rows: [
        row('the first of its context', median(times.first), one),
        row('the next of its context', median(times.next), one),
        row('one program alone', median(times.program), one),
      ],
    },
    {
      title: `Contexts: ${FILES.toLocaleString('en')} files, in ms; target: ratio 1`,
      head: ['', 'median', 'ratio to a worktree'],
      rows: [
        row('a context, beyond one without files', median(times.large) - (first ?? 0), worktree),
        row('git worktree add, git add --all', median(times.worktree), worktree),
      ],
    },
  ];
}

async function openBench(root: string, path: string | undefined, made: AsyncDisposableStack): Promise<Bench> {
  mkdirSync(join(root, 'state'), { recursive: true });
  chmodSync(join(root, 'state'), 0o700);
  const ledger = openTestLedger(join(root, 'state', 'ledger.db'));
  made.defer(() => ledger.close());
  const agent = await createAgent({
    executor: loopExecutor,
    profile: { name: 'bench', tier: 'haiku' },
    config: AgentConfigSchema.parse({ ...(path && { workspace: { path } }) }),
    place: { workspaceRoot: join(root, 'workspace'), stateDir: join(root, 'state') },
    runtime: { env: { read: () => undefined }, clock: systemClock, ids: systemIds },
    observe: { log: silentLog },
  });
  made.defer(() => agent.close());
  return { agent, ledger };
}

async function runTask({ agent, ledger }: Bench, task: AdmittedTask): Promise<void> {
  await startTask(ledger, task);
  const { context } = ledgerRun(ledger, task, {
    model: 'offline/runbook',
    limit: undefined,
    signal: new AbortController().signal,
    ask: () => Promise.reject(new Error('there is no caller to ask')),
  });
  const { status, error } = await agent.executor.run(task, context);
  if (status !== 'done') throw new Error(`the task ended ${status}: ${error?.message ?? ''}`);
}

function makeRepository(path: string): string {
  for (let file = 0; file < FILES; file += 1) {
    const folder = join(path, String(file % 100));
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, `${file}.txt`), `${file}\n`);
  }
  git(path, 'init', '-q');
  git(path, 'add', '.');
  git(path, 'commit', '-qm', 'Files');
  git(path, 'repack', '-adq');
  return path;
}

const git = (path: string, ...args: string[]): void =>
  void execFileSync('git', ['-C', path, '-c', 'user.name=b', '-c', 'user.email=b@localhost', ...args]);
