import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isMap, isScalar, isSeq, LineCounter, type Node, parseDocument } from 'yaml';
import { ORCHESTRATOR } from '../keys/layout.ts';

/** A place in the configuration of a fleet that a later version reads in another way, with the remedy. */
export interface ChangedConfiguration {
  readonly file: string;
  readonly line?: number;
  /** Begins with the version since which it is so. */
  readonly text: string;
}

type Find = (home: string) => ChangedConfiguration[];

/** The release that the changes follow, and how each is found. An entry stays until no fleet can be of that release. */
const CHANGES: readonly { readonly after: string; readonly find: Find }[] = [
  { after: '0.2.0', find: withoutRepositories },
  { after: '0.2.0', find: serversByPath },
  { after: '0.2.0', find: callersWithoutRead },
];

/** The places of a configuration that should be changed for this version. None of them keeps a service from starting. */
export const changedConfiguration = (home: string): ChangedConfiguration[] =>
  CHANGES.flatMap(({ after, find }) =>
    find(home).map((found) => ({ ...found, text: `since ${after}, ${found.text}` })),
  );

function withoutRepositories(home: string): ChangedConfiguration[] {
  const file = join(home, 'profiles/repositories.yaml');
  const text =
    'profiles share a file with their repositories, which containers mount: write "repositories: {}" into it';
  return existsSync(file) ? [] : [{ file, text }];
}

const SHIPPED_SERVER = /node_modules\/@modelcontextprotocol\/server-(filesystem|memory)\//;

function serversByPath(home: string): ChangedConfiguration[] {
  return profiles(home, 'config.yaml').flatMap(({ file, text }) =>
    text.split('\n').flatMap((line, at) => {
      const name = line.trimStart().startsWith('#') ? undefined : SHIPPED_SERVER.exec(line)?.[1];
      if (name === undefined) return [];
      const remedy = `write "command: fleet-mcp-${name}" in place of node and this path`;
      return [{ file, line: at + 1, text: `the shipped MCP servers have names: ${remedy}` }];
    }),
  );
}

/** Only an orchestrator with the scope can pass on the results of a worker. */
function callersWithoutRead(home: string): ChangedConfiguration[] {
  return profiles(home, 'fleet.yaml').flatMap(({ file, text }) => {
    const lines = new LineCounter();
    const document = parseDocument(text, { lineCounter: lines });
    const caller = document.getIn(['fleet', 'server', 'callers', ORCHESTRATOR], true);
    const scopes = isMap(caller) ? caller.get('scopes', true) : undefined;
    if (!isSeq(scopes) || scopes.items.some((each) => isScalar(each) && each.value === 'read')) return [];
    const remedy = `add read to the scopes of ${ORCHESTRATOR}`;
    return [
      { file, line: lineOf(scopes, lines), text: `an orchestrator passes on results of a worker: ${remedy}` },
    ];
  });
}

const lineOf = (node: Node, lines: LineCounter): number => lines.linePos(node.range?.[0] ?? 0).line;

/** The files of this name of all profiles. */
function profiles(home: string, name: string) {
  const folder = join(home, 'profiles');
  if (!existsSync(folder)) return [];
  return readdirSync(folder)
    .sort()
    .map((profile) => join(folder, profile, name))
    .filter((file) => existsSync(file))
    .map((file) => ({ file, text: readFileSync(file, 'utf8') }));
}
