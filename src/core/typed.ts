/** A command as a person has to type it: with its project, where the configuration has several. Pure. */

/** `writeback list` → `deskmirror writeback list --project shop`. */
export type Typed = (command: string) => string

/** Null: no project needs to be named. */
export function typedFor(project: string | null): Typed {
  return (command) => `deskmirror ${command}${project === null ? '' : ` --project ${project}`}`
}

/** `projects`: all that the configuration has. */
export function typedIn(projects: readonly unknown[], project: string): Typed {
  return typedFor(projects.length > 1 ? project : null)
}
