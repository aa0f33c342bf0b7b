{{/* Name of the chart in labels. */}}
{{- define "tollgate.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" }}
{{- end }}

{{/* First part of every object's name; 52 characters leave room for what follows it. */}}
{{- define "tollgate.fullname" -}}
{{- $name := default .Chart.Name .Values.nameOverride }}
{{- $full := ternary .Release.Name (printf "%s-%s" .Release.Name $name) (contains $name .Release.Name) }}
{{- default $full .Values.fullnameOverride | trunc 52 | trimSuffix "-" }}
{{- end }}

{{- define "tollgate.labels" -}}
{{ include "tollgate.ownLabels" . }}
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/* Of every object, whatever commonLabels adds. */}}
{{- define "tollgate.ownLabels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{ include "tollgate.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}

{{/* Of our pods. They never change, since a Deployment's selector cannot. */}}
{{- define "tollgate.selectorLabels" -}}
app.kubernetes.io/name: {{ include "tollgate.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{/* Of the application's pods that have the sidecar. */}}
{{- define "tollgate.sidecarLabels" -}}
tollgate/sidecar: {{ include "tollgate.fullname" . }}
{{- end }}

{{- define "tollgate.podSelector" -}}
{{- ternary (include "tollgate.selectorLabels" .) (include "tollgate.sidecarLabels" .) (eq .Values.mode "standalone") }}
{{- end }}

{{- define "tollgate.serviceAccountName" -}}
{{- default (ternary (include "tollgate.fullname" .) "default" .Values.serviceAccount.create) .Values.serviceAccount.name }}
{{- end }}

{{- define "tollgate.configMapName" -}}
{{- default (include "tollgate.fullname" .) .Values.existingConfigMap }}
{{- end }}

{{- define "tollgate.image" -}}
{{- with .Values.image }}
{{- $name := empty .registry | ternary .repository (printf "%s/%s" .registry .repository) }}
{{- .digest | empty | ternary (printf "%s:%s" $name (default $.Chart.AppVersion .tag)) (printf "%s@%s" $name .digest) }}
{{- end }}
{{- end }}

{{/*
On what the pods of an application need and a release of ours has: without it the next start of such a pod would wait for ever,
also after `helm uninstall`. Where the application's own chart brings us, both go together.
*/}}
{{- define "tollgate.keptForSidecar" -}}
{{- if and (eq .Values.mode "sidecar") .Chart.IsRoot }}
annotations:
  helm.sh/resource-policy: keep
{{- end }}
{{- end }}
