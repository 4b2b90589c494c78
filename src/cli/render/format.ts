/** The formats of `src/core/format.ts`, for commands. */
export { formatAge, formatBytes, formatCount, formatDuration, pluralize, toPrintable } from '../../core/format.ts'
