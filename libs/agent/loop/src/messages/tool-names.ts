/** Names of such tools in other agents, which models have learnt, in lower case without separators; by our own name. */
const OTHER_NAMES: Readonly<Record<string, readonly string[]>> = {
  read_file: ['read', 'cat', 'openfile', 'viewfile'],
  write_file: ['write', 'createfile', 'writetofile'],
  edit_file: ['edit', 'multiedit', 'strreplace', 'replaceinfile', 'editfile'],
  list_files: ['ls', 'listdir', 'listdirectory'],
  find_files: ['glob'],
  grep_files: ['grep'],
  shell_exec: ['bash', 'sh', 'shell', 'runcommand', 'executecommand', 'runshellcommand', 'runterminalcmd'],
  web_fetch: ['webfetch', 'fetch'],
  web_search: ['websearch'],
};

/** The tool that `name` means: ours, in any spelling, or by its name in other agents. Undefined unless just one fits. */
export function meantTool(name: string, offered: ReadonlySet<string>): string | undefined {
  if (offered.has(name)) return name;
  if (name.length > 40) return undefined;
  const plain = plainly(name);
  const found = Object.entries(OTHER_NAMES).filter(
    ([own, others]) => offered.has(own) && (plainly(own) === plain || others.includes(plain)),
  );
  return found.length === 1 ? found[0]?.[0] : undefined;
}

const plainly = (name: string): string => name.replace(/[_-]/g, '').toLowerCase();
