{{/* What the schema cannot say, each with the values' names. */}}
{{- define "kantha.checks" -}}
{{- if and (gt (int .Values.replicas) 1) (not .Values.leaderElection.enabled) -}}
{{- fail (printf "replicas: %d needs leaderElection.enabled: true; two operators without a Lease would both act" (int .Values.replicas)) -}}
{{- end -}}
{{- $models := .Values.networkPolicy.models -}}
{{- if and $models.enabled $models.namespaces .Values.watchNamespaces -}}
{{- range $models.namespaces -}}
{{- if not (has . $.Values.watchNamespaces) -}}
{{- fail (printf "networkPolicy.models.namespaces: %s is not in watchNamespaces" .) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- if and $models.enabled (not $models.namespaces) (not .Values.watchNamespaces) -}}
{{- fail "networkPolicy.models.namespaces: name the namespaces to guard, as watchNamespaces is empty" -}}
{{- end -}}
{{- if and .Values.metricsApi.enabled .Values.metricsApi.secretName (not .Values.metricsApi.caBundle) -}}
{{- fail "metricsApi.caBundle: required with metricsApi.secretName; the API server trusts nothing else" -}}
{{- end -}}
{{- if and .Values.helmTest.enabled (not .Values.helmTest.image) -}}
{{- fail "helmTest.image: name an image with wget, as helmTest.enabled is true" -}}
{{- end -}}
{{- range $name, $image := pick .Values.images "operator" "noded" "engine" -}}
{{- if eq $image.tag "latest" -}}
{{- fail (printf "images.%s.tag: latest is no version; a restarted pod would run another program than its neighbour" $name) -}}
{{- end -}}
{{- end -}}
{{- if and .Values.rbac.create .Values.ownership.check -}}
{{- include "kantha.checkOwnership" . -}}
{{- end -}}
{{- end -}}

{{/*
Two operators that watch the same namespace would undo each other's work. A release is known by its
role in each watched namespace, or by its ClusterRole; `helm template` sees no cluster and skips this.
*/}}
{{- define "kantha.checkOwnership" -}}
{{- $role := include "kantha.watchRoleName" . -}}
{{- $api := "rbac.authorization.k8s.io/v1" -}}
{{- include "kantha.checkOwner" (list . (lookup $api "ClusterRole" "" $role) "every namespace") -}}
{{- range .Values.watchNamespaces -}}
{{- include "kantha.checkOwner" (list $ (lookup $api "Role" . $role) (printf "namespace %s" .)) -}}
{{- else -}}
{{- range (lookup $api "Role" "" "").items | default list -}}
{{- if eq .metadata.name $role -}}
{{- include "kantha.checkOwner" (list $ . (printf "namespace %s" .metadata.namespace)) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* (list $ role "what it watches") */}}
{{- define "kantha.checkOwner" -}}
{{- $root := index . 0 -}}
{{- $found := index . 1 -}}
{{- if $found -}}
{{- $owner := dig "metadata" "annotations" "serving.kantha.dev/release" "unknown" $found -}}
{{- if ne $owner (include "kantha.release" $root) -}}
{{- fail (printf "%s is already watched by another Kantha operator (release %s), and two would undo each other's work. Uninstall that release, or give the two different watchNamespaces. See docs/install.md, \"More than one operator\"." (index . 2) $owner) -}}
{{- end -}}
{{- end -}}
{{- end -}}
