/** A command as a person has to type it: with its project, where the configuration has several. Pure. */

/** `writeback list` → `deskmirror writeback list --project shop`. */
export type CommandHint = (command: string) => string

/** Null: no project needs to be named. */
export function commandHintFor(project: string | null): CommandHint {
  return (command) => `deskmirror ${command}${project === null ? '' : ` --project ${project}`}`
}

/** `projects`: all that the configuration has. */
export function projectCommandHint(projects: readonly unknown[], project: string): CommandHint {
  return commandHintFor(projects.length > 1 ? project : null)
}
