import { z } from 'zod';

interface StdioServerConfig {
  readonly command: string;
  readonly args?: readonly string[] | undefined;
  readonly env?: Readonly<Record<string, string>> | undefined;
  readonly cwd?: string | undefined;
  readonly disabled?: boolean | undefined;
}

interface HttpServerConfig {
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly disabled?: boolean | undefined;
}

/** How to reach one MCP server: a command spoken to over its stdio, or a Streamable HTTP address. */
export type McpServerConfig = StdioServerConfig | HttpServerConfig;

const STDIO_ONLY = ['args', 'env', 'cwd'] as const;

/** One entry of `mcp.servers` in config.yaml, strict: `command` or `url`, and only what belongs to it. */
export const McpServerConfigSchema = z
  .strictObject({
    command: z.string().min(1).optional(),
    args: z.array(z.string()).optional(),
    env: z.record(z.string(), z.string()).optional(),
    cwd: z.string().min(1).optional(),
    url: z.url({ protocol: /^https?$/ }).optional(),
    headers: z.record(z.string(), z.string()).optional(),
    disabled: z.boolean().optional(),
  })
  .transform((entry, context): McpServerConfig => {
    const refuse = (path: string, message: string): void => {
      context.addIssue({ code: 'custom', path: [path], message });
    };
    const { command, args, env, cwd, url, headers, disabled } = entry;
    if (url !== undefined) {
      if (command !== undefined) refuse('command', 'excludes url: keep one of the two');
      for (const key of STDIO_ONLY) if (entry[key]) refuse(key, 'is for servers with a command: remove it');
      return { url, headers, disabled };
    }
    if (command === undefined) refuse('command', 'is required, unless url is set');
    if (headers) refuse('headers', 'is for servers with a url: remove it');
    return { command: command ?? '', args, env, cwd, disabled };
  });
