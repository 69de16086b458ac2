/** The example of the source document, its section on config.yaml. */
export const SOURCE_CONFIG = `
model: claude-opus-4-6[1m]
defaultAgent: cofounder
effort: max
tools:
  memory: { enabled: true }
  workspace: { enabled: true }
  web: { enabled: true }
  shell: { enabled: true }
  tasks: { enabled: true }
  introspection: { enabled: true }
  models: { enabled: true }
  a2a: { enabled: true } # NEW — A2A client tools
hooks:
  logToolUse: false
  verifyBeforeComplete: true # NEW — pre-completion verification
  loopDetection: true # NEW — doom loop detection
  loopDetectionThreshold: 3 # NEW — edits before warning
  compactSuccessOutput: true # NEW — truncate successful output
  compactOutputThreshold: 50 # NEW — max lines for success
a2a: # NEW — A2A configuration
  enabled: true
  port: 4000 # default port for --serve mode
  agents: # registered remote agents
  # example:
  # data-pipeline:
  # url: http://data-agent.internal:4000
  # description: "LangGraph data pipeline agent"
`;
