/** What a project is called. Text fits both types, but a value of one does not fit the other. */

/** As the service calls the project, and every table: a UUID. */
export type ProjectId = string & { readonly is?: 'id' }

/** As people call the project: in the configuration, in reports and on pages. */
export type ProjectName = string & { readonly is?: 'name' }
