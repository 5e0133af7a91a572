"""The same table, paged in the three ways that Django REST framework has."""

from django.urls import include, path
from rest_framework import (
    authentication,
    pagination,
    permissions,
    routers,
    serializers,
    viewsets,
)

from shop.models import Tea


class TeaSerializer(serializers.ModelSerializer):
    class Meta:
        model = Tea
        fields = ("id", "name", "price")


class Pages(pagination.PageNumberPagination):
    page_size = 40


class Cursor(pagination.CursorPagination):
    page_size = 40
    ordering = "id"


class Offset(pagination.LimitOffsetPagination):
    default_limit = 40


class TeaViews(viewsets.ReadOnlyModelViewSet):
    queryset = Tea.objects.order_by("id")
    serializer_class = TeaSerializer
    pagination_class = Pages


class CursorViews(TeaViews):
    pagination_class = Cursor


class OffsetViews(TeaViews):
    pagination_class = Offset


class TokenViews(TeaViews):
    authentication_classes = (authentication.TokenAuthentication,)
    permission_classes = (permissions.IsAuthenticated,)


class NewerViews(TeaViews):
    def get_queryset(self):
        above = int(self.request.query_params.get("above", 0))
        return super().get_queryset().filter(id__gt=above)


router = routers.DefaultRouter()
router.register("token", TokenViews, basename="token")
router.register("newer", NewerViews, basename="newer")
router.register("pages", TeaViews, basename="pages")
router.register("cursor", CursorViews, basename="cursor")
router.register("offset", OffsetViews, basename="offset")
urlpatterns = [path("api/", include(router.urls))]
