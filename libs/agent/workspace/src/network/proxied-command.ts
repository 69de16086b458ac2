import type { ProxyFiles } from '../confinement/confinement.ts';
import { withMonitor } from '../disk/disk-space.ts';
import type { CommandLine, CommandMonitor } from '../process/run-command.ts';

/** The way of one command from a network namespace of its own to a proxy of the gateway. */
export interface ProxiedCommand {
  /** For its confinement, and for no other. */
  readonly files: ProxyFiles;
  /** Runs the command that follows, with the way open. It belongs within the confinement. */
  readonly prefix: readonly string[];
  /** Opens the proxy to the command while it runs. */
  readonly monitor: CommandMonitor;
  /** What the proxy has refused to the command, for those who read its output; bounded. */
  refused(): readonly string[];
}

type Wrap = (command: string, args: readonly string[], proxy?: ProxyFiles) => CommandLine;

/** Confines a command as `wrap` does, with the way to the proxy, if there is one. */
export function throughProxy(wrap: Wrap, proxied: ProxiedCommand | undefined): Wrap {
  if (proxied === undefined) return wrap;
  const [first = '', ...rest] = proxied.prefix;
  return (command, args) =>
    withMonitor(wrap(first, [...rest, command, ...args], proxied.files), proxied.monitor);
}
