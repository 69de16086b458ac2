import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AgentCard } from '@a2a-js/sdk';
import { FleetError, HANDSHAKE_EXTENSION } from '@hermes-fleet/protocol';
import { buildAgentCard, type CardOptions } from './agent-card.ts';

const build = (identity: string, more: Partial<CardOptions> = {}): AgentCard =>
  buildAgentCard({
    identity,
    url: 'http://neo:9220/jsonrpc',
    version: '1.2.3',
    extensions: [{ uri: HANDSHAKE_EXTENSION, params: { protocol_versions: ['2.0'] } }],
    streaming: true,
    authRequired: true,
    ...more,
  });

test('front matter takes precedence over the first heading and the first paragraph', () => {
  const fronted = build(
    '---\nname: neo\ndescription: The one.\ntags: [code, tests]\n---\n# Another\n\nText.\n',
  );
  assert.deepEqual([fronted.name, fronted.description], ['neo', 'The one.']);
  assert.deepEqual(fronted.skills[0]?.tags, ['code', 'tests']);
  const plain = build('# Trinity\n\nHandles `deep`\n**work**.\n\nMore.\n');
  assert.deepEqual([plain.name, plain.description], ['Trinity', 'Handles deep work.']);
  const empty = build('');
  assert.deepEqual([empty.name, empty.description, empty.skills[0]?.id], ['agent', 'agent', 'agent']);
});

test('skills come from bullets and H3 headings of the Skills section, with or without a description', () => {
  const card = build(
    [
      '# Neo',
      '',
      'Who.',
      '',
      '## Skills',
      '',
      '- **Write code**: in small steps,',
      '  with tests',
      '- Review — reads diffs',
      '- plan',
      '',
      '### Deep search',
      '',
      'Looks everywhere.',
      '',
      '## Limits',
      '',
      '- never sleeps',
      '',
    ].join('\r\n'),
  );
  assert.deepEqual(
    card.skills.map(({ id, name, description }) => [id, name, description]),
    [
      ['write-code', 'Write code', 'in small steps, with tests'],
      ['review', 'Review', 'reads diffs'],
      ['plan', 'plan', 'plan'],
      ['deep-search', 'Deep search', 'Looks everywhere.'],
    ],
  );
});

test('without a Skills section, H2 headings outside code fences are skills', () => {
  const card = build(
    '# N\n\n## Build\n\nBuilds.\n\n```md\n## Not a skill\n```\n\n~~~\n## Nor this\n```\n## or this\n~~~\n## Ship #\nShips.\n',
  );
  assert.deepEqual(
    card.skills.map(({ name, description }) => [name, description]),
    [
      ['Build', 'Builds.'],
      ['Ship', 'Ships.'],
    ],
  );
});

test('slugs are unique and keep letters of every script', () => {
  const titles = ['検索する', 'Éclair!', 'eclair', 'Обзор кода', '🚀', '🎉', 'skill 2', 'a/b', 'a b'];
  const { skills } = build(`## Skills\n${titles.map((title) => `- ${title}`).join('\n')}\n`);
  const ids = skills.map(({ id }) => id);
  assert.equal(new Set(ids).size, titles.length);
  assert.deepEqual(ids, [
    '検索する',
    'eclair',
    'eclair-2',
    'обзор-кода',
    'skill',
    'skill-2',
    'skill-2-2',
    'a-b',
    'a-b-2',
  ]);
});

test('broken front matter is CONFIG_INVALID and names the file', () => {
  for (const identity of ['---\nname: [neo\n---\n', '---\n- neo\n---\n']) {
    assert.throws(
      () => build(identity),
      (thrown) =>
        thrown instanceof FleetError &&
        thrown.code === 'CONFIG_INVALID' &&
        thrown.fields[0]?.path === 'IDENTITY.md',
    );
  }
});

test('the card serializes to JSON with interfaces, extension and security schemes', () => {
  const json = AgentCard.toJSON(build('# Neo'));
  assert.deepEqual(json, {
    name: 'Neo',
    description: 'Neo',
    supportedInterfaces: ['1.0', '0.3'].map((protocolVersion) => ({
      url: 'http://neo:9220/jsonrpc',
      protocolBinding: 'JSONRPC',
      protocolVersion,
    })),
    version: '1.2.3',
    capabilities: {
      streaming: true,
      pushNotifications: false,
      extendedAgentCard: true,
      extensions: [{ uri: HANDSHAKE_EXTENSION, params: { protocol_versions: ['2.0'] } }],
    },
    securitySchemes: {
      bearer: { httpAuthSecurityScheme: { scheme: 'Bearer', description: 'One token per caller' } },
    },
    securityRequirements: [{ schemes: { bearer: {} } }],
    defaultInputModes: ['text/plain', 'application/json', 'application/vnd.hermes.handshake+json'],
    defaultOutputModes: ['text/plain', 'application/json', 'application/vnd.hermes.handshake+json'],
    skills: [{ id: 'neo', name: 'Neo', description: 'Neo', tags: ['neo'] }],
  });
  const open = AgentCard.toJSON(build('# Neo', { authRequired: false }));
  assert.ok(!JSON.stringify(open).includes('ecurity'));
});
