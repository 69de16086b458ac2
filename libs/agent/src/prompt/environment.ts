import type { AdmittedTask } from '@hermes-fleet/protocol';
import { dataBlock } from './data.ts';
import { domainsOf } from './domains.ts';
import type { WorkspaceFacts } from './workspace-facts.ts';

/** The lines of the environment that every run gets. */
export function environmentLines(o: {
  readonly task: AdmittedTask;
  readonly facts: WorkspaceFacts | undefined;
  readonly tools: readonly string[];
  /** Groups of tools that the budget is too small for. */
  readonly leftOut: readonly string[];
  readonly remainingTokens: number;
}): string[] {
  const { task, facts } = o;
  const tools = domainsOf(o.tools).join(', ') || 'none';
  const leftOut = domainsOf(o.leftOut).join(', ');
  return [
    ...(facts === undefined ? [] : [workspaceLine(facts)]),
    `Tools: ${tools}.${leftOut === '' ? '' : ` Not offered within this budget: ${leftOut}.`}`,
    `Token budget: ${Number.isFinite(o.remainingTokens) ? `${o.remainingTokens} at the start` : 'no limit'}.`,
    `Deadline: ${task.deadlineAt === undefined ? 'none' : new Date(task.deadlineAt).toISOString()}.`,
  ];
}

function workspaceLine({ branch, uncommitted }: WorkspaceFacts): string {
  const state =
    uncommitted === undefined ? '' : uncommitted === 0 ? ', clean' : `, ${uncommitted} uncommitted`;
  return `Workspace: a git working tree on branch ${branch}${state}; paths are relative to it; leave committing to the fleet.`;
}

/** Which project it is: fixed words about well-known files. */
export const projectLine = ({ project }: WorkspaceFacts): string | undefined =>
  project.length === 0 ? undefined : `Project: ${project.join('; ')}.`;

/** What stands at the top of the workspace. */
export const filesBlock = ({ entries }: WorkspaceFacts): string | undefined =>
  entries.length === 0 ? undefined : `Files:\n${dataBlock('workspace', entries)}`;
