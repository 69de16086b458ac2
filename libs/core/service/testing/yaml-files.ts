import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { FleetError } from '@hermes-fleet/protocol';
import { tempDir } from '@hermes-fleet/protocol/testing';
import { z } from 'zod';
import { createSecretEnv } from '../src/config/secret-env.ts';
import { loadYamlConfig } from '../src/config/yaml-config.ts';

const caller = z.strictObject({
  token_env: z.string(),
  scopes: z.array(z.enum(['announce', 'dispatch', 'read'])).min(1),
});
export const schema = z
  .strictObject({
    fleet: z.strictObject({
      enabled: z.boolean().default(true),
      response_handler: z.enum(['agent', 'llm', 'echo']).default('agent'),
      server: z.strictObject({
        bind_host: z.string(),
        bind_port: z.int().min(1).max(65_535),
        auth_required: z.boolean(),
        token_env: z.string().min(3).max(40).optional(),
        callers: z.record(z.string().regex(/^[a-z]+$/), caller).optional(),
      }),
      agents: z
        .record(z.string(), z.strictObject({ url: z.url(), weight: z.number().multipleOf(5).optional() }))
        .optional(),
      mcp: z
        .record(
          z.string(),
          z.union([
            z.strictObject({ command: z.string(), args: z.array(z.string()).optional() }),
            z.strictObject({ url: z.url() }),
          ]),
        )
        .optional(),
      mode: z.literal('strict', { error: 'only "strict" is supported; remove this key' }).optional(),
      token: z.int().optional(),
      shape: z
        .discriminatedUnion('kind', [
          z.strictObject({ kind: z.literal('a') }),
          z.strictObject({ kind: z.literal('b') }),
        ])
        .optional(),
      env: z.record(z.string(), z.string()).optional(),
      note: z.custom<'x'>((value) => value === 'x').optional(),
    }),
  })
  .superRefine(({ fleet }, context) => {
    if (fleet.server.bind_host !== '127.0.0.1' && !fleet.server.auth_required) {
      context.addIssue({
        code: 'custom',
        path: ['fleet', 'server', 'bind_host'],
        message: 'listens beyond loopback without auth; set auth_required: true',
      });
    }
    if (fleet.agents !== undefined && Object.keys(fleet.agents).length > 2) {
      context.addIssue({ code: 'custom', path: ['fleet', 'agents', 'third'], message: 'one agent too many' });
    }
  });

export function write(t: TestContext, content: string | Buffer): string {
  const file = join(tempDir(t), 'fleet.yaml');
  writeFileSync(file, content);
  return file;
}

export const load = (file: string, env: NodeJS.ProcessEnv = {}) =>
  loadYamlConfig({ file, schema, env: createSecretEnv(env) });

/** The problems of a configuration, as `<path>: <reason>`. */
export function problems(t: TestContext, content: string, env: NodeJS.ProcessEnv = {}): string[] {
  const file = write(t, content);
  try {
    load(file, env);
  } catch (thrown) {
    if (!(thrown instanceof FleetError)) throw thrown;
    assert.equal(thrown.code, 'CONFIG_INVALID');
    const lines = thrown.fields.map(({ path, reason }) => `${path}: ${reason}`);
    const count = lines.length === 1 ? '1 problem' : `${lines.length} problems`;
    assert.equal(thrown.message, `fleet.yaml has ${count}:\n${lines.map((line) => `  ${line}`).join('\n')}`);
    return lines;
  }
  return [];
}

export const server = (lines: string): string => `fleet:
  server:
    bind_host: 127.0.0.1
    bind_port: 9220
    auth_required: true
${lines}`;
