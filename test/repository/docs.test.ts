import assert from 'node:assert/strict';
import { accessSync, constants, existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import {
  ANNOUNCE_STREAM,
  ANNOUNCE_SUBJECTS,
  AUDIT_STREAM,
  AUDIT_SUBJECTS,
  STREAM,
  STREAM_SUBJECTS,
} from '@hermes-fleet/events';
import { FleetConfigSchema } from '@hermes-fleet/fleet-config';
import { CloudEvent, ERRORS, isJsonObject, LifecycleEvent } from '@hermes-fleet/protocol';
import { ControlStatus } from '@hermes-fleet/protocol/control';
import {
  decodeAnnounce,
  decodeDispatch,
  decodeResult,
  SessionAnnounceWire,
  TaskDispatchWire,
  TaskResultWire,
  UnmetKind,
} from '@hermes-fleet/protocol/handshake';
import { renderDispatchText } from '@hermes-fleet/protocol/prose';
import { PEER_SCOPES } from '@hermes-fleet/service';
import { parse } from 'yaml';
import { USAGES } from '../../libs/cli/src/commands.ts';
import { createDraft } from '../../services/trader/src/control/response-draft.ts';
import { controlEvent } from '../../services/trader/src/store/control-event.ts';
import { doc, docs, fenced, plain, rows, section } from '../support/docs.ts';
import { ROOT, runProgram } from '../support/fleet.ts';
import { leaves } from '../support/schema.ts';

const names = (table: readonly string[][]): string[] => table.map(([name]) => plain(name)).sort();

test('metrics.md has every alert', () => {
  const written = [...doc('docs/metrics.md').matchAll(/^\| ([A-Z]\w+) \|/gm)].map(at1);
  const rules = globSync('deploy/prometheus/rules/*.rules.yml', { cwd: ROOT }).map(doc).join('\n');
  assert.deepEqual(written.sort(), [...rules.matchAll(/- alert: (\w+)/g)].map(at1).sort());
});

test('handshake.md has every field of the three messages, and every kind of unmet requirement', () => {
  const text = doc('docs/handshake.md');
  const documented = (heading: string): string[] => names(rows(section(text, heading)));
  const fields = (schema: Parameters<typeof leaves>[0]): string[] =>
    leaves(schema, { brackets: true }).sort();
  assert.deepEqual(documented('SESSION_ANNOUNCE'), fields(SessionAnnounceWire));
  assert.deepEqual(documented('TASK_DISPATCH'), fields(TaskDispatchWire));
  const states = new Set(['done', 'partial', 'blocked', 'error']);
  const result = documented('TASK_RESULT').filter((name) => !states.has(name));
  assert.deepEqual(result, fields(TaskResultWire));
  assert.deepEqual(documented('Admission'), [...UnmetKind.options].sort());
});

test('every message that handshake.md shows is valid, and every error is as the catalogue has it', () => {
  const text = doc('docs/handshake.md');
  const decoders = new Map<unknown, (wire: unknown) => unknown>([
    ['SESSION_ANNOUNCE', decodeAnnounce],
    ['TASK_DISPATCH', decodeDispatch],
    ['TASK_RESULT', decodeResult],
  ]);
  const messages = fenced(text, 'json')
    .map((block): unknown => JSON.parse(block))
    .filter((message) => isJsonObject(message) && decoders.has(message.type));
  assert.ok(messages.length >= decoders.size, 'a message has no example');
  for (const message of messages) if (isJsonObject(message)) decoders.get(message.type)?.(message);

  const errors = new Map(Object.entries(ERRORS));
  for (const [reason, code, http, retryable] of rows(section(text, 'Errors')).map((row) => row.map(plain))) {
    const known = errors.get(reason ?? '');
    const status = http === '200' ? 200 : known?.httpStatus;
    const shownAs = [known?.jsonrpcCode, status, known?.retryable].map(String);
    assert.deepEqual([code, http, String(retryable === 'yes')], shownAs, reason);
  }
});

test('handshake.md shows to the letter what a prose peer is sent', () => {
  const sent = renderDispatchText({
    type: 'TASK_DISPATCH',
    protocolVersion: '2.0',
    deadline: '2026-05-31T21:00:00Z',
    task: { taskId: 'abc-123', priority: 'high', replySchema: 'structured', tokenBudget: 4000 },
    requirements: {
      requiredMcp: ['context_mode'],
      requiredCapabilities: ['terminal', 'file'],
      modelTier: { min: 'sonnet' },
    },
    brief: 'Refactor the auth module. Focus on token refresh logic...',
  });
  const [shownText] = fenced(section(doc('docs/handshake.md'), 'Prose peers'), 'text');
  assert.equal(shownText, `${sent}\n`);
});

test('what the documents show of fleet.yaml is valid', () => {
  const shownFiles = docs().flatMap(({ file, text }) =>
    fenced(text, 'yaml').map((block) => ({ file, value: parse(block, { logLevel: 'error' }) as unknown })),
  );
  const fleets = shownFiles.filter(({ value }) => isJsonObject(value) && value.fleet !== undefined);
  assert.ok(fleets.length > 0, 'no document shows a fleet.yaml');
  for (const { file, value } of fleets) {
    const { error } = FleetConfigSchema.safeParse(value);
    assert.deepEqual(error?.issues ?? [], [], file);
  }
});

test('every command, key of fleet.yaml, scope and kind that the documents name is there', async () => {
  const { stdout } = await runProgram(process.execPath, ['libs/cli/src/main.ts', '--help']);
  // The list of commands does not name `help` itself.
  const commands = new Set(['help', ...[...stdout.matchAll(/^ {2}([a-z-]+) /gm)].map(at1)]);
  const keys = leaves(FleetConfigSchema, { brackets: false });
  const scopes = new Set<string>([
    ...PEER_SCOPES,
    ...['join', 'operate', 'trader:read', 'trader:decide', 'trader:override'],
  ]);
  const kinds = new Set<string>(UnmetKind.options);
  const isKey = (name: string): boolean => keys.some((key) => key === name || key.startsWith(`${name}.`));
  const missing = docs().flatMap(({ file, text }) => {
    const named = (pattern: RegExp): string[] => [...text.matchAll(pattern)].map(at1);
    return [
      ...named(/`fleet ([a-z][a-z-]*)/g).filter((command) => !commands.has(command)),
      ...named(/`(fleet\.(?!yaml\b|task\.|control\.|trade\.|audit\.|announce\.[<>])[a-z_.<>]+)`/g).filter(
        (key) => !isKey(key),
      ),
      ...named(/scopes? `([a-z:_]+)`/g).filter((scope) => !scopes.has(scope)),
      ...named(/(?:kind|blocked as) `([a-z]+)`/g).filter((kind) => !kinds.has(kind)),
    ].map((name) => `${file}: ${name}`);
  });
  assert.deepEqual(missing, []);
});

test('every command line of a document, and of the README of the package, has a command and options that are there', () => {
  const given = new Set(['help', 'version', 'json', 'output']);
  const pages = [...docs(), { file: 'deploy/package/README.md', text: doc('deploy/package/README.md') }];
  const wrong = pages.flatMap(({ file, text }) => {
    const lines = fenced(text, 'sh').flatMap((block) => [
      ...block
        .replaceAll(/\\\n/g, ' ')
        .replaceAll(/'[^']*'|"[^"]*"/g, "''")
        .matchAll(/^(?:\.\/)?fleet ([a-z-][^\n#|&;)]*)/gm),
    ]);
    return lines
      .map(at1)
      .filter((line) => {
        const usage = USAGES.filter(({ name }) => `${line} `.startsWith(`${name} `)).at(-1);
        const options = [...line.matchAll(/(?<=\s)--([a-z-]+)/g)].map(at1);
        const known = new Set([...given, ...Object.keys(usage?.options ?? {})]);
        return (
          (usage === undefined && !/^(help|--)/.test(line)) || options.some((option) => !known.has(option))
        );
      })
      .map((line) => `${file}: fleet ${line}`);
  });
  assert.deepEqual(wrong, []);
});

test('events.md has every event', () => {
  const table = rows(section(doc('docs/events.md'), 'The events'));
  // One that means different things in different places has a row for each.
  assert.deepEqual([...new Set(names(table))], [...LifecycleEvent.options].sort());
});

test('events.md has every control event, with every field of its data, and every stream', () => {
  const table = names(rows(section(doc('docs/events.md'), 'Control events')));
  const { event } = controlEvent({
    response: createDraft({ decisionId: 'd', concernId: 'a:m', action: 'pause', dryRun: false }).answer({
      status: 'noop',
      result: { modeChange: 'none', reconciled: true },
      before: undefined,
      after: undefined,
    }),
    concern: undefined,
    caller: 'switch',
    link: { seq: 1, hash: '' },
    at: 0,
  });
  const { data } = CloudEvent.parse({ ...event, id: 'x' });
  const documented = table.flatMap((row) => row.split(', ')).map((name) => name.replace('[]', ''));
  assert.deepEqual(documented.sort(), [...ControlStatus.options, ...Object.keys(data)].sort());
  const streams = rows(section(doc('docs/events.md'), 'The streams')).map((row) =>
    row.slice(0, 2).map(plain),
  );
  assert.deepEqual(streams, [
    [STREAM, STREAM_SUBJECTS.join(', ')],
    [ANNOUNCE_STREAM, ANNOUNCE_SUBJECTS.join(', ')],
    [AUDIT_STREAM, AUDIT_SUBJECTS.join(', ')],
  ]);
});

test('every make target, link, image and file that the documents name is there', () => {
  const targets = new Set(
    [...readFileSync(join(ROOT, 'Makefile'), 'utf8').matchAll(/^([a-z-]+):/gm)].map(at1),
  );
  const missing = docs().flatMap(({ file, text }) => {
    const made = [...text.matchAll(/`(?:\w+=\w+ )?make (?:-s )?([a-z-]+)/g)].map(at1);
    const links = [...text.matchAll(/\]\((?!https?:)([^)]+)\)/g)].map(at1);
    const images = [...text.matchAll(/<(?:img|source)\b[^>]*?\b(?:src|srcset)="(?!https?:)([^"]+)"/g)].map(
      at1,
    );
    const paths = [...text.matchAll(/`((?:libs|services|deploy|docs|test)\/[\w./-]+|\.env)`/g)].map(at1);
    return [
      ...made.filter((target) => !targets.has(target)).map((target) => `${file}: make ${target}`),
      ...links.filter((link) => !resolves(file, link)).map((link) => `${file}: link ${link}`),
      ...images.filter((image) => !resolves(file, image)).map((image) => `${file}: image ${image}`),
      ...paths.filter((path) => !existsSync(join(ROOT, path))).map((path) => `${file}: file ${path}`),
    ];
  });
  assert.deepEqual(missing, []);
});

test('every script that the documents run by its path can be run', () => {
  const scripts = docs().flatMap(({ text }) =>
    fenced(text, 'sh').flatMap((block) => [...block.matchAll(/^(deploy\/[\w./-]+\.sh)/gm)].map(at1)),
  );
  assert.ok(scripts.includes('deploy/swarm/up.sh'));
  for (const script of scripts) accessSync(join(ROOT, script), constants.X_OK);
});

test('every reference in code and configuration leads to something in the repository', () => {
  const files = globSync(
    [
      '{libs,services,test,deploy,docs}/**/*.{ts,sh,mjs,yml,yaml}',
      'Makefile',
      'docker-compose.yml',
      'deploy/docker/Dockerfile',
    ],
    { cwd: ROOT, exclude: ['**/node_modules/**', 'test/repository/docs.test.ts'] },
  );
  assert.ok(files.length > 500, `only ${files.length} files found: the search of this test is broken`);
  const dead = files.flatMap((file) => {
    const text = doc(file);
    const references = [
      ...text.matchAll(/\b((?:docs\/[\w/-]+|README|CONTRIBUTING|SECURITY|CHANGELOG)\.md(?:#[\w-]+)?)/g),
    ];
    return [
      ...references.map(at1).filter((link) => !resolves('README.md', link)),
      ...[...text.matchAll(/\b(design (?:file )?\d|seed \d{3})\b/g)].map(at1),
      ...[...text.matchAll(/(docs\/[\w/-]+\.md, [A-Z]\w+)/g)].map(at1),
    ].map((reference) => `${file}: ${reference}`);
  });
  assert.deepEqual(dead, []);
});

const at1 = (match: RegExpMatchArray): string => match[1] ?? '';

function resolves(file: string, link: string): boolean {
  const [path = '', anchor] = link.split('#');
  const target = path === '' ? file : join(dirname(file), path);
  if (!existsSync(join(ROOT, target))) return false;
  if (anchor === undefined) return true;
  const headings = [...doc(target).matchAll(/^#+ (.+)$/gm)].map(at1);
  return headings.some((heading) => anchorOf(heading) === anchor);
}

/** As the usual Markdown viewers make it. */
const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replace(/[^\w\- ]/g, '')
    .replaceAll(' ', '-');
