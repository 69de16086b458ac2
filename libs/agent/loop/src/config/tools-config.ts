import { z } from 'zod';
import { parseRule } from '../network/allowed-hosts.ts';
import { IgnoredTools } from './ignored-keys.ts';

const toggle = z.boolean().default(true);
const enabled = z.strictObject({ enabled: toggle }).prefault({});
const seconds = z.int().min(1).max(3600);

/** The gateway sets these itself. */
const OWN_NAMES = /^(?:HOME|TMPDIR|FLEET_.*|GIT_CONFIG_(?:COUNT|KEY|VALUE).*)$/;

/** Variables of commands. Their values are literal: what the gateway's environment holds is no command's business. */
const ShellEnv = z
  .record(
    z
      .string()
      .regex(/^[A-Za-z_][A-Za-z0-9_]{0,99}$/, 'must be a variable name')
      .refine((name) => !OWN_NAMES.test(name), 'is set by the gateway; choose another name'),
    z
      .string()
      .max(4096)
      .refine((value) => !value.includes('\0'), 'must not contain a null byte')
      .refine(
        (value) => !value.includes('${'),
        'must be a literal value: commands get no variables of the gateway, which may be secrets',
      ),
  )
  .refine((env) => Object.keys(env).length <= 100, 'must have at most 100 variables')
  .default({});

/** The limits of a command and of a stdio MCP server; 0: no limit. See `CommandLimits`. */
const ShellLimits = z.strictObject({
  /** Default: 2048, or half of what the container may have. */
  processes: z.int().min(0).max(1_000_000).optional(),
  /** Default: half of the memory of the machine or the container. */
  memory_mb: z.int().min(0).optional(),
  data_mb: z.int().min(0).default(0),
  file_mb: z.int().min(0).default(8192),
  open_files: z.int().min(0).max(1_000_000).default(16_384),
  cpu_s: z.int().min(0).default(14_400),
});

const Hosts = z
  .array(
    z
      .string()
      .max(300)
      .refine(
        (entry) => parseRule(entry) !== undefined,
        'must be host, host:port, *.domain or *.domain:port, such as packages.example.org',
      ),
  )
  .max(200)
  .default([]);

const ShellNetwork = z
  .union([
    z.enum(['full', 'none']),
    z
      .strictObject({ allow: Hosts, allow_internal: Hosts })
      .refine(
        ({ allow, allow_internal: internal }) => allow.length + internal.length > 0,
        'names no host; name one, or use none',
      ),
  ])
  .default('full');

/** The agent's tools: docs/agent.md#tools. */
export const Tools = z.strictObject({
  workspace: enabled,
  shell: z
    .strictObject({
      enabled: toggle,
      confine: z.enum(['auto', 'bubblewrap', 'uid', 'unconfined']).default('auto'),
      timeout_s: seconds.default(120),
      /** The shell of commands; default: bash where commands can run it, else sh. */
      path: z.string().startsWith('/', 'must be an absolute path').max(1000).optional(),
      env: ShellEnv,
      /** Directories that commands may read besides the system's. */
      readable: z.array(z.string().startsWith('/', 'must be an absolute path')).max(100).default([]),
      /** `none`: commands reach no network; `allow`: these hosts only. Both need bubblewrap. */
      network: ShellNetwork,
      limits: ShellLimits.prefault({}),
    })
    .prefault({}),
  progress: enabled,
  scratchpad: enabled,
  memory: enabled,
  web: z
    .strictObject({
      enabled: toggle,
      /** Internal addresses that `web_fetch` may access: `host` or `host:port`. */
      allow_internal: z.array(z.string().min(1)).max(100).default([]),
      /** The endpoint of `web_search`, which is offered only with it. */
      search: z
        .strictObject({
          url: z
            .url({ protocol: /^https?$/ })
            .refine((url) => !/^https?:\/\/[^/?#]*[{}]/.test(url), 'must have {query} behind the host only'),
          token_env: z.string().min(1).optional(),
          results: z.string().max(200).default('results'),
        })
        .optional(),
    })
    .prefault({}),
  a2a: enabled,
  fleet: enabled,
  mcp: enabled,
  publish: enabled,
  ask: enabled,
  ...IgnoredTools.shape,
});
