import { cutTo } from '@hermes-fleet/protocol';
import type { Unverified } from '../messages/follow-up-prompts.ts';
import type { Verified } from '../run/guards.ts';
import type { JournalEntry } from '../run/run-state.ts';
import { type Effect, effectsOf, filesGiven } from './commands/effects.ts';
import { isCode } from './commands/file-kind.ts';

export const WRITES: ReadonlySet<string> = new Set(['write_file', 'edit_file']);
const MAX_COMMAND = 80;

export const isWrite = ({ tool, ok }: JournalEntry): boolean => ok && WRITES.has(tool);
export const isFileTool = ({ tool }: JournalEntry): boolean => WRITES.has(tool);

/** True for a command that runs on. What it checks is not known when its call ends; what it writes may be verified after. */
export const isStart = ({ tool }: JournalEntry): boolean => tool === 'shell_start';

/** The file or folder that a successful call read. */
export function lookedAt({ tool, ok, detail = '' }: JournalEntry): string | undefined {
  if (!ok) return undefined;
  if (tool === 'grep_files') return detail.slice(detail.lastIndexOf(' in ') + ' in '.length);
  return tool === 'read_file' ? detail : undefined;
}

/**
 * Tracks writes and what verified them (docs/agent.md#guards): a passing check all before it, a look its file, unless that
 * is code and commands can run. What a command writes counts as far as its line shows it, also in the background and after
 * an interruption.
 */
export function createVerification(canRun: boolean) {
  /** Unverified files, each with what verifies it: a look, or only a run. */
  const open = new Map<string, 'look' | 'run'>();
  const writes = new Map<string, { first: number; last: number }>();
  const checked = new Set<number>();
  let lastWrite = -1;
  let why: string | undefined;
  let at = -1;

  const mayLook = (path: string): boolean => !canRun || !isCode(path);

  function wrote(name: string, look: boolean): void {
    open.delete(name);
    open.set(name, look ? 'look' : 'run');
    writes.set(name, { first: writes.get(name)?.first ?? at, last: at });
    lastWrite = at;
    why = undefined;
    checked.delete(at);
  }

  /** File tools use paths relative to the workspace; a command may have used an absolute path. */
  function looked(path: string): void {
    for (const [name, how] of open) {
      const isIt = name === path || (name.startsWith('/') && name.endsWith(`/${path}`));
      if (isIt && how === 'look') open.delete(name);
    }
  }

  /** A removed file needs no verification, but removing source code may break the rest. */
  function removed({ path, moved }: Effect & { kind: 'removal' }): void {
    for (const name of open.keys()) if (name === path || name.startsWith(`${path}/`)) open.delete(name);
    if (!moved && isCode(path)) wrote(path, false);
  }

  function check(entry: JournalEntry, effect: Effect & { kind: 'check' }): void {
    const given = filesGiven(effect.how, effect.given, writes.keys());
    if (effect.how === 'run' && !given.some(isCode)) return;
    if (effect.how === 'read') {
      // The output shows the file, whatever the exit code of the line is.
      if (entry.exit_code !== null) for (const name of given) looked(name);
      return;
    }
    const doubt = doubtOf(entry, effect);
    if (doubt !== undefined) {
      const line = effect.shown ? effect.command : (entry.detail ?? '').trim();
      if (effect.how !== 'look') why = `\`${short(line)}\` ${doubt}`;
    } else if (effect.how === 'look') {
      for (const name of given) looked(name);
    } else {
      open.clear();
      why = undefined;
      checked.add(at);
    }
  }

  function ran(entry: JournalEntry): string[] {
    const names: string[] = [];
    for (const effect of effectsOf(entry.detail ?? '')) {
      if (effect.kind === 'check') {
        if (!isStart(entry)) check(entry, effect);
      } else if (effect.kind === 'removal') removed(effect);
      else {
        wrote(
          effect.path ?? `\`${short(effect.command)}\``,
          effect.path !== undefined && !isCode(effect.path),
        );
        if (effect.path !== undefined) names.push(effect.path);
      }
    }
    return entry.ok ? names : [];
  }

  return {
    add(entry: JournalEntry): Verified {
      at += 1;
      const { detail = '' } = entry;
      if (WRITES.has(entry.tool) && entry.unknown) wrote(detail, mayLook(detail));
      if (isWrite(entry)) {
        wrote(detail, mayLook(detail));
        return { wrote: [detail], passed: undefined, tried: false };
      }
      if (entry.tool === 'shell_exec') {
        const names = ran(entry);
        const tried = effectsOf(detail).some(({ kind }) => kind === 'check');
        return { wrote: names, passed: checked.has(at) ? 'all' : undefined, tried };
      }
      // The detail of a process that did not start is the reason.
      if (isStart(entry) && (entry.ok || entry.unknown))
        return { wrote: ran(entry), passed: undefined, tried: false };
      const path = lookedAt(entry);
      if (path === undefined) return { wrote: [], passed: undefined, tried: false };
      looked(path);
      return { wrote: [], passed: mayLook(path) ? { path } : undefined, tried: true };
    },
    unverified: (): Unverified => ({ files: [...open.keys()], why }),
    /** Journal positions of the first and the last write of a file; undefined if it was not written. */
    writesOf: (path: string) => writes.get(path),
    /** True if something was written and nothing was written after the call at `place`, or in it after its own check. */
    isAfterWrites: (place: number): boolean =>
      lastWrite !== -1 && (place > lastWrite || (place === lastWrite && checked.has(place))),
  };
}

function doubtOf(entry: JournalEntry, { how, shown }: Effect & { kind: 'check' }): string | undefined {
  if (!entry.ok) return entry.exit_code === null ? 'was killed' : 'did not succeed';
  if (!shown) return 'does not count, since its exit code is hidden';
  return how === 'tests' && entry.tests === 0 ? 'does not count, since it ran no test' : undefined;
}

const short = (command: string): string => {
  const [line = ''] = command.split('\n', 1);
  return cutTo(line, MAX_COMMAND);
};
