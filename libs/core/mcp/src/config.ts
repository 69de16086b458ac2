import { isClientHeader } from '@hermes-fleet/net';
import { z } from 'zod';

interface ServerConfig {
  readonly disabled?: boolean | undefined;
  /** The scope that a task's caller needs before this server's tools are offered. */
  readonly caller_scope?: string | undefined;
  /** The tools to offer; all when absent. */
  readonly tools?: readonly string[] | undefined;
}

export interface StdioServerConfig extends ServerConfig {
  readonly command: string;
  readonly args?: readonly string[] | undefined;
  readonly env?: Readonly<Record<string, string>> | undefined;
  readonly cwd?: string | undefined;
  /** An instance serves the tasks of one context (`task`, the default), or all tasks of the profile. */
  readonly scope?: 'task' | 'profile' | undefined;
}

interface HttpServerConfig extends ServerConfig {
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** A remote server runs where it runs, once. */
  readonly scope?: 'profile' | undefined;
}

/** The configuration of an MCP server: a command that speaks over stdio, or a Streamable HTTP URL. */
export type McpServerConfig = StdioServerConfig | HttpServerConfig;

/** True for a server of which every context has an instance of its own. */
export const isTaskServer = (config: McpServerConfig): config is StdioServerConfig =>
  !('url' in config) && config.scope !== 'profile';

const STDIO_ONLY = ['args', 'env', 'cwd'] as const;

/** The placeholder for the directory of a context's tree, in `args`, `env` and `cwd` of a server of scope `task`. */
const WORKSPACE = `\${WORKSPACE}`;

/** The entry with its placeholders replaced. */
export function rootedAt(config: StdioServerConfig, directory: string): StdioServerConfig {
  const replaced = (text: string): string => text.replaceAll(WORKSPACE, directory);
  const env = Object.entries(config.env ?? {}).map(([name, value]) => [name, replaced(value)]);
  return {
    ...config,
    args: config.args?.map(replaced),
    env: Object.fromEntries(env),
    cwd: config.cwd === undefined ? directory : replaced(config.cwd),
  };
}

/** One entry of `mcp.servers` in config.yaml, strict: `command` or `url`, with the keys of that kind only. */
export const McpServerConfigSchema = z
  .strictObject({
    command: z
      .string()
      .min(1)
      .optional()
      .describe(
        'a server that the gateway starts, with MCP over its standard input and output; `fleet-mcp-filesystem` and `fleet-mcp-memory` are [shipped](agent.md#mcp-servers)',
      ),
    args: z.array(z.string()).optional().describe('its arguments'),
    env: z
      .record(z.string(), z.string())
      .optional()
      .describe('its environment, in addition to PATH, HOME and LANG'),
    cwd: z
      .string()
      .min(1)
      .optional()
      .describe("its working folder; default with `scope: task`: the context's tree"),
    url: z
      .url({ protocol: /^https?$/ })
      .optional()
      .describe('the alternative to `command`: a server reached over HTTP'),
    headers: z
      .record(
        z.string().refine((name) => !isClientHeader(name), 'is set by the client: leave it out'),
        z.string(),
      )
      .optional()
      .describe('headers sent to it, but for those that the client sets, such as `Host`'),
    disabled: z.boolean().optional().describe('announced as `disabled`, and not started'),
    scope: z
      .enum(
        ['task', 'profile'],
        'must be task or profile; the scope that a caller needs is the key caller_scope',
      )
      .optional()
      .describe('whether each context has an [instance](agent.md#mcp-servers), or all tasks share one'),
    caller_scope: z
      .string()
      .min(1)
      .max(64)
      .optional()
      .describe('its tools are offered only to tasks whose caller has this scope'),
    tools: z
      .array(z.string().min(1).max(200))
      .max(200)
      .optional()
      .describe('the only tools of it that are offered; default: all'),
  })
  .transform((entry, context): McpServerConfig => {
    const refuse = (path: PropertyKey | PropertyKey[], message: string): void => {
      context.addIssue({ code: 'custom', path: [path].flat(), message });
    };
    const { command, args, env, cwd, url, headers, scope, ...common } = entry;
    if (url !== undefined) {
      if (command !== undefined) refuse('command', 'excludes url: keep one of the two');
      for (const key of STDIO_ONLY) if (entry[key]) refuse(key, 'is for servers with a command: remove it');
      if (scope === 'task') refuse('scope', 'task is for servers with a command: remove it');
      const config = { url, headers, ...common };
      return scope === 'profile' ? { ...config, scope } : config;
    }
    if (command === undefined) refuse('command', 'is required, unless url is set');
    if (headers) refuse('headers', 'is for servers with a url: remove it');
    if (scope === 'profile') {
      for (const path of placeholders(entry))
        refuse(path, `\${WORKSPACE} is the tree of a context, which only a server of scope: task has`);
    }
    const config = { command: command ?? '', args, env, cwd, ...common };
    return scope === undefined ? config : { ...config, scope };
  });

/** Where an entry has the placeholder, below the entry. */
function placeholders({
  args = [],
  env = {},
  cwd = '',
}: Pick<StdioServerConfig, 'args' | 'env' | 'cwd'>): PropertyKey[][] {
  return [
    ...args.map((text, at) => [text, ['args', at]] as const),
    ...Object.entries(env).map(([name, text]) => [text, ['env', name]] as const),
    [cwd, ['cwd']] as const,
  ].flatMap(([text, path]) => (text.includes(WORKSPACE) ? [[...path]] : []));
}
