/** The setting of a lake: its folder, what is in it, and when the worker writes it. */
import { z } from 'zod'
import { parsedField } from './fields.ts'
import { scheduleField } from './schedule-field.ts'

/** Undefined: no folder, or an address, of which a folder would be made that nobody looks for. */
export function parseLakeFolder(text: string): string | undefined {
  return text === '' || text.includes('\0') || /^\w[\w+.-]+:\/\//.test(text) ? undefined : text
}

export const lakeFolderAllowed =
  'write a folder of this machine, like lake (rclone copies it into a bucket)'

const objects = 'write a list of tables and views, like [messages, report_day]'
export type LakeSettings = z.infer<typeof settings>

const settings = z.strictObject(
  {
    folder: parsedField(lakeFolderAllowed, parseLakeFolder),
    /** None: all that is mirrored, and what the lake has. */
    objects: z
      .array(z.string({ error: objects }).min(1, objects), { error: objects })
      .readonly()
      .default([]),
    schedule: scheduleField.default({ kind: 'nightly' }),
  },
  { error: 'write a folder, or { folder: lake, objects: [messages], schedule: nightly }' },
)

/** The folder alone, or a map. */
export const lakeField = z.unknown().transform((value, context) => {
  const isFolder = typeof value === 'string'
  const { data, error } = settings.safeParse(isFolder ? { folder: value } : value)
  if (data !== undefined) return data
  for (const issue of error.issues) context.addIssue({ ...issue, path: isFolder ? [] : issue.path })
  return z.NEVER
})
