import { z } from 'zod';
import { parseRule } from '../network/allowed-hosts.ts';
import { IgnoredTools } from './ignored-keys.ts';
import { httpUrl, whole } from './model-config.ts';

const toggle = z.boolean().default(true);
/** A switch of the tools with these names. */
const enabled = (...names: string[]) =>
  z.strictObject({ enabled: toggle.describe(names.map((name) => `\`${name}\``).join(', ')) }).prefault({});

/** The gateway sets these itself. */
const OWN_NAMES = /^(?:HOME|TMPDIR|FLEET_.*|GIT_CONFIG_(?:COUNT|KEY|VALUE).*)$/;

/** The name of a variable that commands may be given. */
export const CommandVariable = z
  .string()
  .regex(/^[A-Za-z_][A-Za-z0-9_]{0,99}$/, 'must be a variable name')
  .refine((name) => !OWN_NAMES.test(name), 'is set by the gateway; choose another name');

/** Variables of commands. Their values are literal: what the gateway's environment holds is no command's business. */
const ShellEnv = z
  .record(
    CommandVariable,
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
  .default({})
  .describe('variables of commands, for example `CI: "true"`');

/** See `CommandLimits`. */
const ShellLimits = z.strictObject({
  processes: whole(0, 1_000_000).optional().describe("processes and threads of the commands' user"),
  memory_mb: whole(0).optional().describe('memory of all processes of a command or an MCP server together'),
  data_mb: whole(0).default(0).describe('the data segment of one process'),
  file_mb: whole(0).default(8192).describe('the size of one file'),
  open_files: whole(0, 1_000_000).default(16_384).describe('open files of one process'),
  cpu_s: whole(0)
    .default(14_400)
    .describe('CPU time of one process; not for MCP servers of `scope: profile`'),
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
  .default('full')
  .describe('what commands reach, see [Network of commands](#network-of-commands)');

/** The agent's tools: docs/agent.md#tools. */
export const Tools = z.strictObject({
  workspace: enabled('read_file', 'write_file', 'edit_file', 'list_files', 'find_files', 'grep_files'),
  shell: z
    .strictObject({
      enabled: toggle.describe('`shell_exec`, `shell_start`, `shell_output`, `shell_stop`'),
      confine: z
        .enum(['auto', 'bubblewrap', 'uid', 'unconfined'])
        .default('auto')
        .describe("how commands are kept away from the gateway's files; `auto`: as this machine can"),
      timeout_s: whole(1, 3600).default(120).describe('the time limit of a command'),
      path: z
        .string()
        .startsWith('/', 'must be an absolute path')
        .max(1000)
        .optional()
        .describe('the shell of commands'),
      env: ShellEnv,
      readable: z
        .array(z.string().startsWith('/', 'must be an absolute path'))
        .max(100)
        .default([])
        .describe("folders that commands may read in addition to the system's"),
      network: ShellNetwork,
      limits: ShellLimits.prefault({}).describe('[limits of commands](#limits-of-commands); `0`: none'),
    })
    .prefault({}),
  progress: enabled('progress_read', 'progress_update'),
  scratchpad: enabled('scratchpad_read', 'scratchpad_write', 'scratchpad_list'),
  memory: enabled('memory_read', 'memory_write', 'memory_list'),
  web: z
    .strictObject({
      enabled: toggle.describe('`web_fetch`, `web_search`'),
      allow_internal: z
        .array(z.string().min(1))
        .max(100)
        .default([])
        .describe('internal addresses that `web_fetch` may request: `host` or `host:port`'),
      search: z
        .strictObject({
          url: httpUrl
            .refine((url) => !/^https?:\/\/[^/?#]*[{}]/.test(url), 'must have {query} behind the host only')
            .describe('the endpoint, which may have an internal address'),
          token_env: z
            .string()
            .min(1)
            .optional()
            .describe('the token sent to the endpoint as `Authorization: Bearer`, and to no other address'),
          results: z
            .string()
            .max(200)
            .default('results')
            .describe('the keys that lead to the list in the answer, with dots between them: `web.results`'),
        })
        .optional()
        .describe('what answers `web_search`, which is offered only with it'),
    })
    .prefault({}),
  a2a: enabled('a2a_list', 'a2a_discover', 'a2a_call', 'a2a_call_streaming', 'a2a_get_task'),
  fleet: enabled('fleet_peers', 'fleet_route', 'fleet_send', 'fleet_discard'),
  mcp: z
    .strictObject({ enabled: toggle.describe('the tools of all servers below `mcp.servers`') })
    .prefault({}),
  publish: enabled('publish_file'),
  ask: enabled('ask_caller'),
  ...IgnoredTools.shape,
});
