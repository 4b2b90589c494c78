/** A command as users type it, with its project if needed: `status` → `deskmirror status --project shop`. */
export type CommandHint = (command: string) => string

/** `project` null: the command needs no `--project`. */
export function commandHintFor(project: string | null): CommandHint {
  return (command) => `deskmirror ${command}${project === null ? '' : ` --project ${project}`}`
}

/** `projects`: all configured ones. */
export function projectCommandHint(projects: readonly unknown[], project: string): CommandHint {
  return commandHintFor(projects.length > 1 ? project : null)
}
