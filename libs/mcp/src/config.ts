import { z } from 'zod';

interface ServerConfig {
  readonly disabled?: boolean | undefined;
  /** The scope that a task's caller needs before this server's tools are offered. */
  readonly scope?: string | undefined;
  /** The tools to offer; all when absent. */
  readonly tools?: readonly string[] | undefined;
}

interface StdioServerConfig extends ServerConfig {
  readonly command: string;
  readonly args?: readonly string[] | undefined;
  readonly env?: Readonly<Record<string, string>> | undefined;
  readonly cwd?: string | undefined;
}

interface HttpServerConfig extends ServerConfig {
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

/** The configuration of an MCP server: a command that speaks over stdio, or a Streamable HTTP URL. */
export type McpServerConfig = StdioServerConfig | HttpServerConfig;

const STDIO_ONLY = ['args', 'env', 'cwd'] as const;

/** One entry of `mcp.servers` in config.yaml, strict: `command` or `url`, with the keys of that kind only. */
export const McpServerConfigSchema = z
  .strictObject({
    command: z.string().min(1).optional(),
    args: z.array(z.string()).optional(),
    env: z.record(z.string(), z.string()).optional(),
    cwd: z.string().min(1).optional(),
    url: z.url({ protocol: /^https?$/ }).optional(),
    headers: z.record(z.string(), z.string()).optional(),
    disabled: z.boolean().optional(),
    scope: z.string().min(1).max(64).optional(),
    tools: z.array(z.string().min(1).max(200)).max(200).optional(),
  })
  .transform((entry, context): McpServerConfig => {
    const refuse = (path: string, message: string): void => {
      context.addIssue({ code: 'custom', path: [path], message });
    };
    const { command, args, env, cwd, url, headers, ...common } = entry;
    if (url !== undefined) {
      if (command !== undefined) refuse('command', 'excludes url: keep one of the two');
      for (const key of STDIO_ONLY) if (entry[key]) refuse(key, 'is for servers with a command: remove it');
      return { url, headers, ...common };
    }
    if (command === undefined) refuse('command', 'is required, unless url is set');
    if (headers) refuse('headers', 'is for servers with a url: remove it');
    return { command: command ?? '', args, env, cwd, ...common };
  });
